// Changes that make a plan possible: each is planned, none is guessed.
#include "apc/Driver/SuggestChanges.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/Alternatives.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

/// Changes that were planned, by their outcome.
class Trials {
public:
  Trials(const PlanningControl &control, Clock::time_point end) : control(control), end(end) {}

  /// Plans one change after the other until one fits. \p shares: lists that share the time that is left.
  void run(const Alternatives &alternatives, size_t shares);
  /// "what would help: ...", in a line of its own.
  std::string text() const;
  bool fitsAny() const { return !fitting.empty(); }

private:
  double secondsLeft() const { return std::chrono::duration<double>(end - Clock::now()).count(); }
  bool isOver() const { return secondsLeft() <= 0 || (control.stop && control.stop->load()); }

  const PlanningControl &control;
  Clock::time_point end;
  std::vector<std::string> fitting, others, untried;
};

void Trials::run(const Alternatives &alternatives, size_t shares) {
  Clock::time_point until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>((end - Clock::now()) / static_cast<double>(shares));
  for (const Alternative &own : alternatives.nearestFirst) {
    if (isOver() || Clock::now() >= until) {
      untried.push_back(own.flags);
      return;
    }
    PlanRequest request = own.request;
    request.timeLimitSeconds = std::chrono::duration<double>(until - Clock::now()).count();
    if (control.report)
      control.report("trying " + own.flags);
    PlanningControl quiet = control;
    quiet.report = nullptr;
    quiet.begin.reset();
    llvm::Expected<Plan> plan = searchModel(request, quiet);
    if (plan) {
      fitting.push_back(own.flags + ": " + formatBytes(static_cast<double>(plan->memory.total())));
      return;
    }
    if (takeMessage(plan.takeError()).first == Fault::NoPlan) // other errors: the change is none for this model
      others.push_back(own.flags);
  }
}

std::string Trials::text() const {
  std::string text;
  if (fitsAny())
    text = "\nwhat would help: " + llvm::join(fitting, "; ") + " on each device (each was planned)";
  if (!others.empty())
    text += "\nplanned as well, and found to be too little: " + llvm::join(others, ", ");
  if (!untried.empty())
    text += "\nnot planned, for the time was over: " + llvm::join(untried, ", ");
  return text;
}

/// The samples of a step, where they are known.
std::optional<int64_t> batchOfStep(const PlanRequest &request) {
  if (request.globalBatch)
    return request.globalBatch;
  PlanRequest asExported = request;
  asExported.microBatch.reset();
  auto batch = exportedBatch(asExported);
  if (batch)
    return *batch;
  llvm::consumeError(batch.takeError());
  return std::nullopt;
}

} // namespace

llvm::Expected<Plan> planOrSuggest(const PlanRequest &request, const PlanningControl &control) {
  Clock::time_point begin = Clock::now();
  llvm::Expected<Plan> plan = planModel(request, control);
  if (plan || request.mode != StepMode::Train)
    return plan;
  llvm::Error error = plan.takeError();
  bool isTooMuchHeld = error.isA<TooMuchHeld>();
  auto [fault, message] = takeMessage(std::move(error));
  bool isStopped = control.stop && control.stop->load();
  if (fault != Fault::NoPlan || isStopped)
    return llvm::make_error<PlannerError>(fault, message);
  constexpr double mostSeconds = 1e9; // a longer limit than any, that the clock can hold
  std::chrono::duration<double> limit(std::min(request.timeLimitSeconds, mostSeconds));
  Trials trials(control, begin + std::chrono::duration_cast<Clock::duration>(limit));
  std::vector<Alternatives> lists = alternativesTo(request, batchOfStep(request), isTooMuchHeld);
  for (auto [index, list] : llvm::enumerate(lists))
    if (!list.isLastResort || !trials.fitsAny())
      trials.run(list, lists.size() - index);
  return noPlanError("{0}{1}", message, trials.text());
}

} // namespace apc

// Changes that make a plan possible: each is planned, none is guessed.
#include "apc/Driver/SuggestChanges.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/Alternatives.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// Changes that were planned, by their outcome.
class Trials {
public:
  /// \p control: with a clock. \p end: a reading of it.
  Trials(const PlanningControl &control, double end) : control(control), end(end) {}

  /// Plans one change after the other until one fits. \p shares: lists that share the time that is left.
  void run(const Alternatives &alternatives, size_t shares);
  /// "what would help: ...", in a line of its own.
  std::string text() const;
  bool fitsAny() const { return !fitting.empty(); }

private:
  double secondsLeft() const { return end - control.clock->seconds(); }
  bool isOver() const { return secondsLeft() <= 0 || (control.stop && control.stop->load()); }

  const PlanningControl &control;
  double end;
  std::vector<std::string> fitting, others, untried;
};

void Trials::run(const Alternatives &alternatives, size_t shares) {
  const double until = control.clock->seconds() + secondsLeft() / static_cast<double>(shares);
  for (const Alternative &own : alternatives.nearestFirst) {
    if (isOver() || control.clock->seconds() >= until) {
      untried.push_back(own.flags);
      return;
    }
    PlanRequest request = own.request;
    request.timeLimitSeconds = until - control.clock->seconds();
    if (control.report)
      control.report("trying " + own.flags);
    PlanningControl quiet = control.withoutExplanation();
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

llvm::Expected<Plan> planOrSuggest(const PlanRequest &request, const PlanningControl &caller) {
  const PlanningControl control = caller.within(request.timeLimitSeconds);
  llvm::Expected<Plan> plan = planModel(request, control);
  if (plan || request.mode != StepMode::Train)
    return plan;
  llvm::Error error = plan.takeError();
  bool isTooMuchHeld = error.isA<TooMuchHeld>();
  auto [fault, message] = takeMessage(std::move(error));
  bool isStopped = control.stop && control.stop->load();
  if (fault != Fault::NoPlan || isStopped)
    return llvm::make_error<PlannerError>(fault, message);
  Trials trials(control, request.timeLimitSeconds);
  std::vector<Alternatives> lists = alternativesTo(request, batchOfStep(request), isTooMuchHeld);
  for (auto [index, list] : llvm::enumerate(lists))
    if (!list.isLastResort || !trials.fitsAny())
      trials.run(list, lists.size() - index);
  return noPlanError("{0}{1}", message, trials.text());
}

} // namespace apc

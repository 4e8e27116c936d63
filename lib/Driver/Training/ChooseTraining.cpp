// One plan for each number of micro-batches and each policy, and the best of them.
#include "ChooseTraining.h"
#include "TrainingPoints.h"

#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>

namespace apc {

namespace {

/// Plans one point after the other and keeps the best.
class TrainingChoice {
public:
  TrainingChoice(const PlanRequest &request, llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &)> plan)
      : request(request), plan(plan), policies(policiesOf(request)) {}

  llvm::Expected<Plan> run();

private:
  /// Plans `point` with every policy; true when that gave a better plan.
  llvm::Expected<bool> tryPoint(const PlanRequest &point, size_t pointsLeft);
  std::string describe(const PlanRequest &own) const { return describePoint(own, policies.size() > 1); }
  double secondsLeft() const {
    return request.timeLimitSeconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  const PlanRequest &request;
  llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &)> plan;
  std::vector<RecomputeChoice> policies;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::optional<Plan> best;
  std::optional<double> bound; ///< the least of all that were planned
  std::vector<std::string> lines;
  std::string reason; ///< why nothing fits
};

llvm::Expected<bool> TrainingChoice::tryPoint(const PlanRequest &point, size_t pointsLeft) {
  bool isBetter = false;
  for (RecomputeChoice policy : policies) {
    PlanRequest own = point;
    own.recompute = policy;
    constexpr size_t mostExpected = 4; // further points are rarely tried
    own.timeLimitSeconds =
        std::max(0.1, secondsLeft() / static_cast<double>(std::min(pointsLeft, mostExpected) * policies.size()));
    llvm::Expected<Plan> found = plan(own);
    if (!found) {
      llvm::Error error = found.takeError();
      if (error.isA<TooMuchHeld>()) // with every other point as well
        return std::move(error);
      auto [fault, message] = takeMessage(std::move(error));
      if (fault != Fault::NoPlan)
        return llvm::make_error<PlannerError>(fault, message);
      lines.push_back(describe(own) + ": does not fit");
      reason = std::move(message);
      continue;
    }
    lines.push_back(llvm::formatv("{0}: {1} with {2}", describe(own), formatSeconds(found->stepSeconds),
                                  formatBytes(static_cast<double>(found->memory.total())))
                        .str());
    bound = std::min(bound.value_or(found->lowerBoundSeconds), found->lowerBoundSeconds);
    if (best && !apc::isBetter(rankOf(*found), rankOf(*best)))
      continue;
    best = std::move(*found);
    isBetter = true;
  }
  return isBetter;
}

llvm::Expected<Plan> TrainingChoice::run() {
  auto requests = microBatchRequests(request);
  if (!requests)
    return requests.takeError();
  constexpr unsigned patience = 2; // numbers in a row that gave nothing better
  unsigned worse = 0;
  size_t tried = 0;
  for (; tried < requests->size() && worse < patience && (tried == 0 || secondsLeft() > 0); ++tried) {
    auto isBetter = tryPoint((*requests)[tried], requests->size() - tried);
    if (!isBetter)
      return isBetter.takeError();
    worse = *isBetter || !best ? 0 : worse + 1;
  }
  if (!best && tried < requests->size())
    return noPlanError("the time limit was over when {0} of {1} numbers of micro-batches had been tried; with the "
                       "last: {2}",
                       tried, requests->size(), reason);
  if (!best)
    return noPlanError("with any number of micro-batches and any --recompute that is allowed: {0}", reason);
  if (lines.size() == 1)
    return std::move(*best);
  bool isComplete = tried == requests->size();
  Plan plan = boundByAll(std::move(*best), *bound, isComplete);
  plan.notes.push_back(llvm::formatv("chosen among {0}{1}", llvm::join(lines, "; "),
                                     isComplete ? "" : "; more micro-batches were not tried, and are not bounded"));
  plan.request.timeLimitSeconds = request.timeLimitSeconds;
  return plan;
}

} // namespace

bool leavesTrainingOpen(const PlanRequest &request) {
  return request.mode == StepMode::Train && (request.recompute == RecomputeChoice::Auto ||
                                             request.globalBatch.has_value() != request.microBatch.has_value());
}

llvm::Expected<Plan> chooseTraining(const PlanRequest &request,
                                    llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &)> plan) {
  return TrainingChoice(request, plan).run();
}

} // namespace apc

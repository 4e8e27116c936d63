// One plan for each point that is tried, and a bound for those that are not.
#include "TrainingTrials.h"

#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/Support/FormatVariadic.h"

namespace apc {

double TrainingTrials::secondsLeft() const {
  return request.timeLimitSeconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

llvm::Expected<bool> TrainingTrials::tryPoint(const PlanRequest &point, size_t pointsLeft) {
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

llvm::Expected<double> TrainingTrials::leastSecondsFrom(const PlanRequest &point) const {
  PlanRequest own = point;
  own.recompute = policies.front();
  own.memoryLimitBytes = int64_t(1) << 50; // 1 PiB: more than any device has
  own.timeLimitSeconds = std::max(0.1, secondsLeft());
  llvm::Expected<Plan> found = plan(own);
  if (!found)
    return found.takeError();
  return found->lowerBoundSeconds;
}

} // namespace apc

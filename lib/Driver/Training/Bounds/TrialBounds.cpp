// Bounds of the points of a training step, of those that were planned and of those that were not.
#include "../TrainingTrials.h"

#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

double TrainingTrials::leastBound() const {
  std::vector<double> all;
  for (const auto &[microBatch, own] : bounds) {
    if (own.ofAll)
      all.push_back(*own.ofAll);
    else
      llvm::append_range(all, llvm::make_second_range(own.ofPoints));
  }
  return *llvm::min_element(all);
}

double TrainingTrials::knownLeast(const PlanRequest &point) const {
  double most = 0;
  for (const auto &[microBatch, seconds] : least)
    if (microBatch >= point.microBatch)
      most = std::max(most, seconds);
  return most;
}

llvm::Expected<double> TrainingTrials::leastSecondsFrom(const PlanRequest &point) {
  auto known = least.find(point.microBatch);
  if (known != least.end())
    return known->second;
  if (takesAny(request))
    return knownLeast(point);
  PlanRequest own = point;
  own.recompute = policies.front();
  own.memoryLimitBytes = int64_t(1) << 50; // 1 PiB: more than any device has
  constexpr double share = 0.25;           // points have the rest
  own.timeLimitSeconds = std::max(0.1, share * secondsLeft());
  report("bounding ", own);
  llvm::Expected<LeastPlan> found = plan.least(own);
  if (!found) {
    auto [fault, message] = takeMessage(found.takeError());
    const bool mayBeRefused = fault == Fault::Input && hasOpenMicroBatches(request);
    if (isStopped() || mayBeRefused)
      return knownLeast(point);
    return llvm::make_error<PlannerError>(fault, message);
  }
  const double bounded = std::max(found->plan.lowerBoundSeconds, knownLeast(point));
  if (best && found->isOfRequest) { // a plan as well, whether it fits or not
    Plan made = withinLimit(std::move(found->plan), request, best->memoryLimitBytes);
    points = withTried(std::move(points), triedPointOf(made));
    bool fits = made.memory.total() <= made.memoryLimitBytes;
    if (fits && apc::isBetter(rankOf(made), rankOf(*best)))
      best = std::move(made);
  }
  return least[point.microBatch] = bounded;
}

} // namespace apc

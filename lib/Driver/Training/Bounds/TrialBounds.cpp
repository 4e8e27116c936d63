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

llvm::Expected<double> TrainingTrials::evenShareOf(PlanRequest own) {
  own.pipeline = {1};
  own.timeLimitSeconds = 0;
  llvm::Expected<PipelineBound> bound = plan.bound(own);
  return bound ? llvm::Expected<double>(bound->shareSeconds) : bound.takeError();
}

double TrainingTrials::secondsAddedTo(const PlanRequest &own) {
  PlanRequest most = own;
  most.recompute = policies.front();
  if (own.recompute == most.recompute)
    return 0;
  auto shareOf = [&](const PlanRequest &step) {
    llvm::Expected<double> share = evenShareOf(step);
    if (share)
      return *share;
    llvm::consumeError(share.takeError()); // planning tells of the error, too
    return 0.0;
  };
  auto [without, isNew] = shares.try_emplace(own.microBatch, 0);
  if (isNew)
    without->second = shareOf(most);
  return without->second > 0 ? std::max(0.0, shareOf(own) - without->second) : 0;
}

llvm::Expected<double> TrainingTrials::searchLeast(PlanRequest own) {
  own.memoryLimitBytes = unlimitedBytes;
  constexpr double share = 0.25; // points have the rest
  own.timeLimitSeconds = std::max(0.1, share * secondsLeft());
  report("bounding ", own);
  llvm::Expected<LeastPlan> found = plan.least(own);
  if (!found)
    return found.takeError();
  const double bound = found->plan.lowerBoundSeconds;
  if (best && found->isOfRequest) { // a plan as well, whether it fits or not
    Plan made = withinLimit(std::move(found->plan), request, best->memoryLimitBytes);
    points = withTried(std::move(points), triedPointOf(made));
    bool fits = made.memory.total() <= made.memoryLimitBytes;
    if (fits && apc::isBetter(rankOf(made), rankOf(*best)))
      best = std::move(made);
  }
  return bound;
}

llvm::Expected<double> TrainingTrials::leastSecondsFrom(const PlanRequest &point) {
  auto known = least.find(point.microBatch);
  if (known != least.end())
    return known->second;
  if (takesAny(request))
    return knownLeast(point);
  PlanRequest own = point;
  own.recompute = policies.front();
  llvm::Expected<double> found = control.clock->isOver() ? evenShareOf(std::move(own)) : searchLeast(std::move(own));
  if (found)
    return least[point.microBatch] = std::max(*found, knownLeast(point));
  auto [fault, message] = takeMessage(found.takeError());
  const bool mayBeRefused = fault == Fault::Input && hasOpenMicroBatches(request);
  if (isStopped() || mayBeRefused)
    return knownLeast(point);
  return llvm::make_error<PlannerError>(fault, message);
}

llvm::Expected<TrainingTrials::Settled> TrainingTrials::isSettledBy(const PlanRequest &point, const Fitting &found) {
  if (takesAny(request))
    return Settled{knownLeast(point), true};
  // A little gap that the search leaves whatever the memory, and a little that it does not count, recomputation does
  // not close. Where much is not counted, another search may find what is faster.
  constexpr double little = 0.005, littleUncounted = 0.02;
  const bool isMuch = found.unsharedSeconds > littleUncounted * found.rank.seconds;
  const double counted = found.rank.seconds - (isMuch ? 0 : found.unsharedSeconds);
  double proven = std::max(found.lowerBoundSeconds, counted * (1 - little));
  double wanted = std::min(counted * (1 - request.gapTolerance), proven);
  bool isProvenAlone = point.recompute == RecomputeChoice::None && found.unlimitedBoundSeconds >= wanted;
  if (isProvenAlone) {
    llvm::Expected<bool> onlyAdds = plan.onlyAdds(point);
    if (!onlyAdds)
      return onlyAdds.takeError();
    if (*onlyAdds)
      return Settled{found.unlimitedBoundSeconds, true};
  }
  llvm::Expected<double> least = leastSecondsFrom(point);
  if (!least)
    return least.takeError();
  // The bound leaves out all that policies might save, and counts nothing that they add.
  constexpr double mostSaved = 0.03;
  return Settled{*least, *least >= (isProvenAlone ? std::min(wanted, found.rank.seconds * (1 - mostSaved)) : wanted)};
}

} // namespace apc

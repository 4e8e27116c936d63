// Searches for bounds of the points of a training step: of whole steps, and of their layers where memory is short.
#include "../TrainingTrials.h"

#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"

namespace apc {

double TrainingTrials::secondsToBound() const {
  constexpr double share = 0.25; // points have the rest
  return std::max(0.1, share * secondsLeft());
}

llvm::Expected<double> TrainingTrials::searchLeast(PlanRequest own) {
  own.memoryLimitBytes = unlimitedBytes;
  own.timeLimitSeconds = secondsToBound();
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

bool TrainingTrials::isShortOfMemory(const PlanRequest &point) const {
  if (ofLayout && !(ofLayout->first.recompute == RecomputeChoice::None))
    return true;
  return best && (point.microBatch > best->request.microBatch || !(best->request.recompute == RecomputeChoice::None));
}

llvm::Error TrainingTrials::boundByLayers(PlanRequest own) {
  own.pipeline = {1};
  own.timeLimitSeconds = secondsToBound();
  report("bounding the layers of ", own);
  LeastSeconds &known = least[own.microBatch];
  known.askedForLayers = true;
  llvm::Expected<PipelineBound> bound = plan.bound(own);
  if (!bound) { // layers may be no stages of their own, or be refused, or the user asks to stop
    auto [fault, message] = takeMessage(bound.takeError());
    return fault == Fault::Internal ? llvm::make_error<PlannerError>(fault, message) : llvm::Error::success();
  }
  known.seconds = std::max(known.seconds, bound->withAnyMemory().seconds(request, bound->microBatches).value_or(0));
  known.ofLayers = std::move(*bound);
  return llvm::Error::success();
}

llvm::Error TrainingTrials::boundAll(const PlanRequest &own) {
  LeastSeconds &known = least[own.microBatch];
  if (control.clock->isOver()) {
    llvm::Expected<double> share = evenShareOf(own);
    known.seconds = share ? std::max(known.seconds, *share) : known.seconds;
    return share.takeError();
  }
  const bool isShort = isShortOfMemory(own);
  if (isShort)
    if (llvm::Error error = boundByLayers(own))
      return error;
  if (isShort && (isProven(knownLeast(own)) || knownLeast(own) > leastWithAnyMemory(own)))
    return llvm::Error::success();
  llvm::Expected<double> found = searchLeast(own);
  if (!found)
    return found.takeError();
  known.seconds = std::max(known.seconds, *found);
  constexpr double littleLeft = 0.05; // of the seconds to beat
  const bool isLeft = best && best->isByMemory && knownLeast(own) < (1 - littleLeft) * secondsToBeat();
  return isLeft && !isShort ? boundByLayers(own) : llvm::Error::success();
}

llvm::Expected<double> TrainingTrials::leastSecondsFrom(const PlanRequest &point) {
  if (least.count(point.microBatch) || takesAny(request))
    return knownLeast(point);
  PlanRequest own = point;
  own.recompute = policies.front();
  if (llvm::Error error = boundAll(own)) {
    auto [fault, message] = takeMessage(std::move(error));
    const bool mayBeRefused = fault == Fault::Input && hasOpenMicroBatches(request);
    if (!isStopped() && !mayBeRefused)
      return llvm::make_error<PlannerError>(fault, message);
  }
  return knownLeast(point);
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

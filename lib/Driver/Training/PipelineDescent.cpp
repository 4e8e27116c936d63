// A descent along policies and micro-batches, from the best of a number of workers.
#include "PipelineTrials.h"
#include "Workers/EvenShares.h"

#include "apc/Driver/ImportStep.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

llvm::Error PipelineTrials::tryAsLongAsBetter(llvm::ArrayRef<PlanRequest> points, double end) {
  constexpr double little = 0.02; // of the time limit
  constexpr unsigned patience = 2;
  unsigned worse = 0;
  for (PlanRequest point : points) {
    const double before = trials.secondsLeft();
    if (before <= end || !bestHere || worse == patience)
      break;
    point.recompute = bestHere->point.recompute;
    auto isBetter = tryPoint(point, end);
    if (!isBetter)
      return isBetter.takeError();
    const bool isCheap = before - trials.secondsLeft() < little * request.timeLimitSeconds;
    worse = *isBetter ? 0 : isCheap ? worse + 1 : patience;
  }
  return llvm::Error::success();
}

llvm::Error PipelineTrials::tryPolicies(double end) {
  if (!bestHere)
    return llvm::Error::success();
  PlanRequest point = bestHere->point;
  unsigned worse = 0;
  constexpr unsigned patience = 2;
  for (const RecomputeSetting &policy :
       llvm::drop_begin(policies, llvm::find(policies, point.recompute) - policies.begin() + 1)) {
    if (trials.secondsLeft() <= end || !bestHere->isByMemory || worse == patience)
      break;
    point.recompute = policy;
    auto isBetter = tryPoint(point, end);
    if (!isBetter)
      return isBetter.takeError();
    worse = *isBetter ? 0 : worse + 1;
  }
  return llvm::Error::success();
}

llvm::Error PipelineTrials::improve(int64_t workers, double end) {
  auto all = pointsOf(workers);
  if (!all)
    return all.takeError();
  bestHere = bestOf.at(workers);
  const int64_t best = microBatchesOf(bestHere->point), first = microBatchesOf((*all)[firstToTry(pool, workers, *all)]);
  const int64_t fewest = bestHere->isOfLayout ? best : std::min(best, first); // between them, none was possible
  const bool areMoreRefused = !bestHere->isOfLayout && best < first;
  std::vector<PlanRequest> fewer, more; // those next to the best first
  for (const PlanRequest &point : *all) {
    if (microBatchesOf(point) < fewest)
      fewer.push_back(point);
    if (microBatchesOf(point) > best && !areMoreRefused)
      more.push_back(point);
  }
  std::reverse(fewer.begin(), fewer.end());
  for (llvm::ArrayRef<PlanRequest> others : {fewer, more}) // chunks leave short bubbles for fewer
    if (llvm::Error error = tryAsLongAsBetter(evenlyShared(pool, others), end))
      return error;
  return tryPolicies(end);
}

llvm::Error PipelineTrials::tryAllAlone() {
  constexpr double little = 0.05, most = 0.5; // of the time limit
  if (!trials.found() || trials.secondsLeft() < (1 - little) * request.timeLimitSeconds)
    return llvm::Error::success();
  const PlanRequest best = trials.found()->request;
  auto all = pointsOf(*best.pipeline.count);
  if (!all)
    return all.takeError();
  const double end = most * request.timeLimitSeconds;
  for (PlanRequest &point : *all) {
    if (trials.isStopped() || trials.secondsLeft() <= end)
      break;
    point.recompute = best.recompute;
    auto found = trials.tryOne(point, trials.secondsLeft() - end,
                               [&](const PlanRequest &own) { return points.first(own, std::nullopt); });
    if (!found)
      return found.takeError();
  }
  return llvm::Error::success();
}

} // namespace apc

// A descent along policies and micro-batches, from the best of a number of workers.
#include "PipelineTrials.h"
#include "Workers/EvenShares.h"
#include "Workers/NearPolicies.h"

#include "apc/Driver/ImportStep.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

llvm::Error PipelineTrials::tryUntilPolicyFits(PlanRequest point, double end,
                                               llvm::function_ref<llvm::Expected<bool>(const PlanRequest &)> plan) {
  constexpr double little = 0.02; // of the time limit
  std::vector<RecomputeSetting> all{point.recompute};
  llvm::append_range(all, keepingLess(policies, point.recompute));
  for (const RecomputeSetting &policy : all) {
    const double before = trials.secondsLeft();
    point.recompute = policy;
    llvm::Expected<bool> fits = plan(point);
    if (!fits)
      return fits.takeError();
    wasCheap = before - trials.secondsLeft() < little * request.timeLimitSeconds;
    if (*fits || trials.wasRefused() || !wasCheap || trials.secondsLeft() <= end)
      break;
  }
  return llvm::Error::success();
}

llvm::Error PipelineTrials::tryAsLongAsBetter(llvm::ArrayRef<PlanRequest> points, RecomputeSetting policy, double end) {
  constexpr unsigned patience = 2;
  unsigned worse = 0;
  for (PlanRequest point : points) {
    if (trials.secondsLeft() <= end || !bestHere || worse == patience)
      break;
    point.recompute = policy;
    Outcome outcome = Outcome::FitsNot;
    auto plan = [&](const PlanRequest &own) -> llvm::Expected<bool> {
      llvm::Expected<Outcome> tried = tryPoint(own, end);
      if (!tried)
        return tried.takeError();
      outcome = *tried;
      return outcome != Outcome::FitsNot;
    };
    if (llvm::Error error = tryUntilPolicyFits(point, end, plan))
      return error;
    if (outcome == Outcome::IsBest)
      policy = bestHere->point.recompute;
    worse = outcome == Outcome::IsBest ? 0 : wasCheap ? worse + 1 : patience;
  }
  return llvm::Error::success();
}

llvm::Error PipelineTrials::improve(int64_t workers, double end) {
  auto all = pointsOf(workers);
  if (!all)
    return all.takeError();
  bestHere = bestOf.at(workers);
  const int64_t best = microBatchesOf(bestHere->point), first = microBatchesOf((*all)[firstToTry(pool, workers, *all)]);
  const bool isOfLayout = bestHere->isOfLayout;
  const int64_t fewest = isOfLayout ? best : std::min(best, first); // between them, none was possible
  const bool areMoreRefused = !isOfLayout && best < first;
  std::vector<PlanRequest> fewer, more; // those next to the best first
  for (const PlanRequest &point : *all) {
    if (microBatchesOf(point) < fewest)
      fewer.push_back(point);
    if (microBatchesOf(point) > best && !areMoreRefused)
      more.push_back(point);
  }
  std::reverse(fewer.begin(), fewer.end());
  const RecomputeSetting policy = bestHere->point.recompute;
  for (llvm::ArrayRef<PlanRequest> others : {fewer, more}) // chunks leave short bubbles for fewer
    if (llvm::Error error = tryAsLongAsBetter(evenlyShared(pool, others), policy, end))
      return error;
  const RecomputeSetting own = bestHere->point.recompute;
  if (llvm::Error error = isOfLayout ? tryPolicies(keepingMore(policies, own), end) : llvm::Error::success())
    return error; // those that keep more were not tried beside a layout
  if (llvm::Error error = tryPolicies(keepingLess(policies, own), end))
    return error;
  bestOf.insert_or_assign(workers, *bestHere);
  return llvm::Error::success();
}

llvm::Error PipelineTrials::tryAllAlone() {
  constexpr double little = 0.05, most = 0.5, mostOfOthers = 0.2; // of the time limit
  if (!trials.found() || trials.secondsLeft() < (1 - little) * request.timeLimitSeconds)
    return llvm::Error::success();
  const int64_t best = *trials.found()->request.pipeline.count;
  for (int64_t workers : begun())
    if (llvm::Error error = tryAlone(workers, (1 - (workers == best ? most : mostOfOthers)) * request.timeLimitSeconds))
      return error;
  return llvm::Error::success();
}

llvm::Error PipelineTrials::tryAlone(int64_t workers, double end) {
  auto all = pointsOf(workers);
  if (!all)
    return all.takeError();
  Here &best = bestOf.at(workers);
  const RecomputeSetting policy = best.point.recompute;
  for (PlanRequest &point : *all) {
    if (trials.isStopped() || trials.secondsLeft() <= end)
      break;
    point.recompute = policy;
    auto plan = [&](const PlanRequest &own) -> llvm::Expected<bool> {
      auto found = trials.tryOne(own, trials.secondsLeft() - end,
                                 [&](const PlanRequest &alone) { return points.first(alone, std::nullopt); });
      if (!found)
        return found.takeError();
      if (*found && isBetter((*found)->rank, best.rank))
        best = {(*found)->rank, own, (*found)->isByMemory};
      return found->has_value();
    };
    if (llvm::Error error = tryUntilPolicyFits(point, end, plan))
      return error;
  }
  return llvm::Error::success();
}

} // namespace apc

// A descent along policies and micro-batches.
#include "PipelineTrials.h"

#include "apc/Driver/ImportStep.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

llvm::Error PipelineTrials::tryPolicies(PlanRequest point, double end) {
  unsigned worse = 0;
  for (auto [index, own] : llvm::enumerate(policies)) {
    double seconds = (trials.secondsLeft() - end) / static_cast<double>(policies.size() - index);
    if (trials.secondsLeft() <= end && trials.found())
      break;
    point.recompute = own;
    auto found = trials.tryOne(point, seconds);
    if (!found)
      return found.takeError();
    if (!*found)
      continue;
    worse = bestHere && !isBetter((*found)->rank, *bestHere) ? worse + 1 : 0;
    if (worse == 0) {
      bestHere = (*found)->rank;
      policy = own;
    }
    constexpr unsigned patience = 2;
    if (!(*found)->isByMemory || worse == patience)
      break;
  }
  return llvm::Error::success();
}

llvm::Error PipelineTrials::descend(llvm::ArrayRef<PlanRequest> points, double end) {
  for (PlanRequest point : points) {
    if (trials.secondsLeft() <= end || !policy)
      break;
    point.recompute = *policy;
    auto found = trials.tryOne(point, trials.secondsLeft() - end);
    if (!found)
      return found.takeError();
    if (!*found || !isBetter((*found)->rank, *bestHere))
      break;
    bestHere = (*found)->rank;
  }
  return llvm::Error::success();
}

llvm::Error PipelineTrials::tryWorkers(int64_t workers, double end) {
  auto points = microBatchRequests(request);
  if (!points)
    return points.takeError();
  for (PlanRequest &point : *points)
    point.pipeline = {workers};
  constexpr double perWorker = 8;
  auto distance = [&](const PlanRequest &point) {
    return std::abs(std::log2(static_cast<double>(microBatchesOf(point)) / (perWorker * static_cast<double>(workers))));
  };
  const auto first =
      llvm::min_element(*points, [&](const PlanRequest &a, const PlanRequest &b) { return distance(a) < distance(b); });
  bestHere.reset();
  policy.reset();
  if (llvm::Error error = tryPolicies(*first, end))
    return error;
  if (llvm::Error error = descend(llvm::ArrayRef(*points).drop_front(first - points->begin() + 1), end))
    return error;
  std::vector<PlanRequest> fewer(points->begin(), first);
  std::reverse(fewer.begin(), fewer.end());
  return descend(fewer, end);
}

} // namespace apc

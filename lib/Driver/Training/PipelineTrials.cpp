// A descent along policies and micro-batches.
#include "PipelineTrials.h"

#include "apc/Driver/ImportStep.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

llvm::Expected<bool> PipelineTrials::tryPoint(const PlanRequest &point, double end) {
  constexpr double most = 0.2; // of the time limit: others may be faster
  auto found = trials.tryOne(point, std::min(most * request.timeLimitSeconds, trials.secondsLeft() - end));
  if (!found)
    return found.takeError();
  if (!*found || (bestHere && !isBetter((*found)->rank, bestHere->rank)))
    return false;
  bestHere = Here{(*found)->rank, point, (*found)->isByMemory};
  return true;
}

llvm::Error PipelineTrials::tryUntilOneFits(llvm::ArrayRef<PlanRequest> points, double end) {
  for (PlanRequest point : points)
    for (const RecomputeSetting &policy : policies) {
      bool isOver = trials.isStopped() || (trials.secondsLeft() <= end && trials.found());
      if (bestHere || isOver)
        return llvm::Error::success();
      point.recompute = policy;
      if (auto isBetter = tryPoint(point, end); !isBetter)
        return isBetter.takeError();
    }
  return llvm::Error::success();
}

llvm::Error PipelineTrials::tryAsLongAsBetter(llvm::ArrayRef<PlanRequest> points, double end) {
  for (PlanRequest point : points) {
    if (trials.secondsLeft() <= end || !bestHere)
      break;
    point.recompute = bestHere->point.recompute;
    auto isBetter = tryPoint(point, end);
    if (!isBetter)
      return isBetter.takeError();
    if (!*isBetter)
      break;
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
  auto from = llvm::ArrayRef(*points).drop_front(first - points->begin());
  if (llvm::Error error = tryUntilOneFits(from, end))
    return error;
  if (!bestHere)
    return llvm::Error::success();
  while (!from.empty() && microBatchesOf(from.front()) <= microBatchesOf(bestHere->point))
    from = from.drop_front();
  if (llvm::Error error = tryAsLongAsBetter(from, end))
    return error;
  std::vector<PlanRequest> fewer(points->begin(), first);
  std::reverse(fewer.begin(), fewer.end());
  if (llvm::Error error = tryAsLongAsBetter(fewer, end))
    return error;
  return tryPolicies(end);
}

} // namespace apc

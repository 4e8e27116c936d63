// Bounds of all numbers around a pipeline, and plans with them.
#include "BoundPipelines.h"

#include "../TrainingPoints.h"

#include "apc/Support/Units.h"

namespace apc {

/// Does the request leave numbers around the pipeline open?
static bool leavesPointsOpen(const PlanRequest &request) {
  bool isBatchOpen = !request.globalBatch || !request.microBatch;
  return isBatchOpen || !request.pipeline.count || request.recompute == RecomputeChoice::Auto;
}

llvm::Expected<std::vector<PlanRequest>> boundedRequests(const PlanRequest &request) {
  auto requests = microBatchRequests(request);
  if (requests)
    for (PlanRequest &own : *requests)
      own.recompute = policiesOf(request).front();
  return requests;
}

llvm::Expected<std::optional<double>> boundPipelines(const PlanRequest &request, llvm::ArrayRef<int64_t> workers,
                                                     OuterBounds &bounds, double known, double seconds) {
  if (!leavesPointsOpen(request))
    return std::nullopt;
  return bounds.least(workers, known, seconds);
}

llvm::Error boundBeforeTrials(const PlanRequest &request, llvm::ArrayRef<int64_t> workers, OuterBounds &bounds,
                              const PointPlanner &points) {
  const std::optional<double> &known = points.control.knownSeconds;
  if (!known || !points.knowsPipeline())
    return llvm::Error::success();
  constexpr double share = 0.8; // trials seldom find anything faster then
  return boundPipelines(request, workers, bounds, *known, share * request.timeLimitSeconds).takeError();
}

Plan withBoundOfAll(Plan best, const PlanRequest &request, const std::optional<double> &ofAll) {
  if (!leavesPointsOpen(request))
    return best;
  if (!ofAll) {
    best.notes.push_back("the bound says nothing about other workers, micro-batches and recomputation");
    return best;
  }
  double own = best.lowerBoundSeconds;
  best = boundByAll(std::move(best), *ofAll);
  if (own > *ofAll)
    best.notes.push_back("with the same workers, micro-batches and recomputation no step takes less than " +
                         formatSeconds(own));
  return best;
}

} // namespace apc

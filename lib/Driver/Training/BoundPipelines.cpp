// The bound of the fewest micro-batches, for each number of workers.
#include "BoundPipelines.h"

#include "TrainingPoints.h"

#include "apc/Support/Units.h"

#include <chrono>

namespace apc {

llvm::Expected<std::optional<double>> boundPipelines(const PlanRequest &request, llvm::ArrayRef<int64_t> workers,
                                                     const PointPlanner &points, double seconds) {
  using Clock = std::chrono::steady_clock;
  auto requests = microBatchRequests(request);
  if (!requests)
    return requests.takeError();
  PlanRequest own = requests->front();
  own.recompute = policiesOf(request).front();
  std::optional<double> least;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (size_t index = 0; index < workers.size(); ++index) {
    double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0 || points.isStopped())
      return std::nullopt;
    own.pipeline = {workers[index]};
    own.timeLimitSeconds = left / static_cast<double>(workers.size() - index);
    llvm::Expected<double> bound = points.bound(own);
    if (!bound)
      return bound.takeError();
    least = std::min(least.value_or(*bound), *bound);
  }
  return least;
}

/// Does the request leave numbers around the pipeline open?
static bool leavesPointsOpen(const PlanRequest &request) {
  bool isBatchOpen = !request.globalBatch || !request.microBatch;
  return isBatchOpen || !request.pipeline.count || request.recompute == RecomputeChoice::Auto;
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

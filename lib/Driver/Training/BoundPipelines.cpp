// For each number of workers, micro-batches that are too few, and the work of all others.
#include "BoundPipelines.h"

#include "TrainingPoints.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>

namespace apc {

/// Does the request leave numbers around the pipeline open?
static bool leavesPointsOpen(const PlanRequest &request) {
  bool isBatchOpen = !request.globalBatch || !request.microBatch;
  return isBatchOpen || !request.pipeline.count || request.recompute == RecomputeChoice::Auto;
}

/// The least of a number of workers; \p requests: by number of micro-batches, fewest first.
static llvm::Expected<double> boundWorkers(llvm::ArrayRef<PlanRequest> requests, const PointPlanner &points,
                                           double known, double seconds) {
  PlanRequest own = requests.front();
  own.timeLimitSeconds = 0;
  llvm::Expected<PipelineBound> fewest = points.bound(own);
  if (!fewest)
    return fewest.takeError();
  const double wayOfAll = fewest->pathSeconds * static_cast<double>(microBatchesOf(own)); // one after the other
  auto wayOf = [&](const PlanRequest &request) { return wayOfAll / static_cast<double>(microBatchesOf(request)); };
  const auto *first = llvm::find_if(requests, [&](const PlanRequest &request) { return wayOf(request) < known; });
  if (first == requests.end())
    return known;
  own = *first;
  own.timeLimitSeconds = seconds;
  llvm::Expected<PipelineBound> bound = points.bound(own);
  return bound ? llvm::Expected<double>(std::min(known, bound->shareSeconds)) : bound.takeError();
}

llvm::Expected<std::optional<double>> boundPipelines(const PlanRequest &request, llvm::ArrayRef<int64_t> workers,
                                                     const PointPlanner &points, double known, double seconds) {
  using Clock = std::chrono::steady_clock;
  if (!leavesPointsOpen(request))
    return std::nullopt;
  auto requests = microBatchRequests(request);
  if (!requests)
    return requests.takeError();
  std::optional<double> least;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (size_t index = 0; index < workers.size(); ++index) {
    double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0 || points.isStopped())
      return std::nullopt;
    for (PlanRequest &own : *requests) {
      own.pipeline = {workers[index]};
      own.recompute = policiesOf(request).front();
    }
    auto bound = boundWorkers(*requests, points, known, left / static_cast<double>(workers.size() - index));
    if (!bound)
      return bound.takeError();
    least = std::min(least.value_or(*bound), *bound);
  }
  return least;
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

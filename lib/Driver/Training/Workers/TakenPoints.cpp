// Micro-batches that are left open, without those that no row of the named schedule takes.
#include "TakenPoints.h"

#include "../TrainingPoints.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/TakenMicroBatches.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

llvm::Expected<std::vector<PlanRequest>> takenPoints(const PlanRequest &request, int64_t workers) {
  auto points = microBatchRequests(request);
  if (!points)
    return points;
  const std::optional<int64_t> batch = points->front().globalBatch;
  if (!request.microBatch && batch)
    llvm::erase_if(*points,
                   [&](const PlanRequest &own) { return !takesMicroBatches(own, workers, microBatchesOf(own)); });
  if (points->empty())
    return refusalOfBatch(request, workers, *batch);
  for (PlanRequest &point : *points)
    point.pipeline = point.pipeline.with(workers);
  return points;
}

} // namespace apc

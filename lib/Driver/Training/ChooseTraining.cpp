// The parts of a training step's plan that a request leaves open: copies, a pipeline, or micro-batches and
// recomputation.
#include "ChooseTraining.h"

#include "ChooseCopies.h"
#include "ChoosePipeline.h"
#include "MicroBatchChoice.h"

namespace apc {

bool leavesTrainingOpen(const PlanRequest &request) {
  bool isOpen = !request.globalBatch || !request.microBatch || !request.pipeline.count || !request.copies.count;
  return request.mode == StepMode::Train && (isOpen || request.recompute == RecomputeChoice::Auto);
}

llvm::Expected<Plan> chooseTraining(const PlanRequest &request, const PointPlanner &points) {
  if (!request.copies.count || request.pipeline.isOn())
    return request.copies.count ? choosePipeline(withOwnBatch(request), points) : chooseCopies(request, points);
  auto choose = [&](const PlanRequest &own) { return chooseMicroBatches(own, points); };
  bool isGiven = request.globalBatch || request.microBatch || copiesOf(request) > 1;
  return isGiven ? choose(request) : planOwnBatch(request, *points.control.clock, points.whole, choose);
}

} // namespace apc

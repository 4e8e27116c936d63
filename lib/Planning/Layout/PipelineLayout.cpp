// Stages that the degrees of a layout decide, under the layout's schedule.
#include "PipelineLayout.h"

#include "../Pipeline/BalancedCuts.h"
#include "../Pipeline/WorkerPools.h"
#include "CostLayout.h"
#include "LayerwiseCuts.h"

#include "apc/Support/Error.h"

namespace apc {

PlanRequest withPipelineOf(PlanRequest request, const ParallelDegrees &layout) {
  request.pipeline = {layout.pipeline};
  if (layout.pipeline > 1) {
    request.chunks = {layout.numChunks()};
    request.schedule = layout.scheduleName();
  }
  return request;
}

static llvm::Error checkPipelineLayout(const PlanningTask &whole, const ParallelDegrees &layout) {
  int64_t devices = whole.pool.numDevices();
  if (devices % layout.pipeline != 0)
    return inputError("layout {0}: pp={1} does not divide {2} devices; divisors of {2} are accepted", layout.str(),
                      layout.pipeline, devices);
  if (layout.numDevices() != devices)
    return inputError("layout {0}: {1}, and there are {2} devices; accepted are degrees that multiply to {2}",
                      layout.str(), layout.product(), devices);
  if (llvm::Error error = checkWorkers(whole.pool, layout.pipeline, "layout " + layout.str()))
    return error;
  return checkLayoutOnModel(whole, layout);
}

/// Equally many layers in each stage, or else about equal work.
static llvm::Expected<std::vector<size_t>> cutsOf(const PlanningTask &whole, const ParallelDegrees &layout) {
  auto numStages = static_cast<size_t>(layout.pipeline * layout.numChunks());
  std::vector<size_t> cuts = layerwiseCuts(whole.graph, numStages);
  if (!cuts.empty())
    return cuts;
  return balancedCuts(whole.graph, *poolOfWorker(whole.pool, layout.pipeline), numStages);
}

/// The pipeline with all stages as fast as can be, or each within its share of the memory.
static llvm::Expected<PipelineTrial> tryStages(const PlanningTask &whole, const ParallelDegrees &layout,
                                               const PipelinePoint &point, llvm::ArrayRef<size_t> cuts,
                                               bool keepsToLimit) {
  auto answerStage = [&](StageAnswer &own) -> llvm::Error {
    llvm::Expected<Candidate> candidate = carryOutLayout(*own.task, layout, keepsToLimit);
    if (!candidate)
      return candidate.takeError();
    own.isByMemory = keepsToLimit;
    own.candidate = std::move(*candidate);
    return llvm::Error::success();
  };
  auto step = StagedStep::make(whole, layout.pipeline, cuts, point.schedule->splitsBackward, answerStage);
  if (!step)
    return step.takeError();
  return (*step)->plan(point);
}

llvm::Expected<PipelineTrial> costPipelineLayout(const PlanningTask &whole, const ParallelDegrees &layout) {
  if (llvm::Error error = checkPipelineLayout(whole, layout))
    return std::move(error);
  auto points = pipelinePoints(whole.request, layout.pipeline, layout.numChunks(), whole.graph.microBatches());
  if (!points)
    return points.takeError();
  auto cuts = cutsOf(whole, layout);
  if (!cuts)
    return cuts.takeError();
  llvm::Expected<PipelineTrial> fastest = tryStages(whole, layout, points->front(), *cuts, /*keepsToLimit=*/false);
  if (!fastest || fastest->fits())
    return fastest;
  llvm::Expected<PipelineTrial> smaller = tryStages(whole, layout, points->front(), *cuts, /*keepsToLimit=*/true);
  return !smaller || smaller->fits() ? std::move(smaller) : std::move(fastest);
}

} // namespace apc

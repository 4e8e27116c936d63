// Fastest strategies of all ops, spread over the workers, and of all layers.
#include "PipelineBound.h"

#include "../../References.h"
#include "../CutStep.h"
#include "../Workers/WorkerPools.h"
#include "FastestLayers.h"
#include "KeptCosts.h"
#include "PointBounds.h"

#include "apc/Graph/LayerCuts.h"

namespace apc {

/// No op of a stage takes less than under its fastest strategy on the devices of a worker. Values that are kept count
/// where layers are searched, too, which then pay for their bytes.
static llvm::Error boundByOps(const PlanningTask &whole, const Pool &worker, bool areLayersSearched, FastestOps &ops,
                              PipelineBound &bound) {
  llvm::Expected<CutStep> uncut = cutStep(whole.graph, {}, /*splitsBackward=*/true);
  if (!uncut)
    return uncut.takeError();
  const StageGraph &step = uncut->stages.front();
  const std::vector<double> fastest = ops.secondsOf(step.graph);
  for (auto [index, part] : llvm::enumerate(step.parts)) {
    const double seconds = fastest[index];
    bound.shareSeconds += seconds / static_cast<double>(bound.workers);
    bool isOnPath = part == StagePart::Forward || part == StagePart::InputGradients;
    bound.pathSeconds += isOnPath ? seconds / static_cast<double>(step.graph.ops[index].repeats) : 0;
  }
  if (areLayersSearched)
    bound.kept = keptCostsOf(step.graph, fastest, worker.numDevices());
  return llvm::Error::success();
}

double leastSharedSeconds(const PlanningTask &whole) {
  const CostModel single(whole.pool, Mesh());
  const std::vector<Strategy> strategies = replicated(whole.graph);
  double seconds = 0;
  for (size_t op = 0; op < whole.graph.ops.size(); ++op)
    seconds += costOfOp(whole.graph, OpId(op), strategies[op], single).seconds();
  return seconds / static_cast<double>(whole.pool.numDevices());
}

llvm::Expected<PipelineBound> leastPipelineSeconds(const PlanningTask &whole, const WorkerPools &workers,
                                                   double seconds) {
  PipelineBound bound;
  bound.workers = workers.count();
  bound.microBatches = whole.graph.wholeMicroBatches();
  if (!workers.areEqual()) {
    bound.shareSeconds = leastSharedSeconds(whole);
    return bound;
  }
  FastestOps ops(workers.pool(0), mostAxes(whole.request));
  if (llvm::Error error = boundByOps(whole, workers.pool(0), seconds > 0 && !whole.graph.overlaps, ops, bound))
    return std::move(error);
  if (seconds > 0)
    whole.report("bounding pipelines by their layers");
  const size_t numLayers = layerCuts(whole.graph).size() + 1;
  const bool needsPasses = boundAsksForPasses(whole.request, bound.workers, bound.microBatches, numLayers);
  llvm::Expected<LayerBounds> layers = fastestLayers(
      whole, bound.workers, seconds, needsPasses ? PassSearches::Done : PassSearches::LeftOut, bound.kept, ops);
  if (!layers)
    return layers.takeError();
  bound.layers = std::move(layers->layers);
  bound.byteCosts = std::move(layers->byteCosts);
  bound.memoryLimitBytes = whole.memoryLimitBytes;
  return bound;
}

} // namespace apc

// The layouts that --pipeline auto begins with, as far as there is time for them.
#include "PipelinesBeside.h"

#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc {

static bool hasNodes(const Pool &pool) {
  const llvm::SmallVector<int64_t, 4> sizes = pool.levelSizes();
  return llvm::any_of(llvm::ArrayRef(sizes).drop_back(), [](int64_t size) { return size > 1; });
}

/// Micro-batches of one sample for each worker, where tp takes a node: of a batch, with any number of workers.
static double samplesOfWorker(const Pool &pool, const StepSizes &step) {
  return static_cast<double>(step.batch * mostTensorOf(pool)) / static_cast<double>(pool.numDevices());
}

static bool keepsAll(const LayoutReferences &layouts) {
  return layouts.layoutOfBest && layouts.layoutOfBest->recompute == RecomputeSetting(RecomputeChoice::None);
}

llvm::Expected<std::optional<PipelineBeside>> pipelineBeside(const PlanRequest &request,
                                                             const LayoutReferences &layouts,
                                                             EvaluateRequested evaluate, const PlanningControl &control,
                                                             double seconds) {
  constexpr double share = 0.1, fewest = 0.25;
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  const Pool &pool = target->cluster.pool;
  const bool isAsked = request.pipeline.isOn() || !layouts.refusal.empty();
  if (seconds <= 0 || isAsked || keepsAll(layouts) || !hasNodes(pool) || !layouts.sizes ||
      samplesOfWorker(pool, *layouts.sizes) < fewest)
    return std::nullopt;
  PlanRequest open = request;
  open.layouts.clear();
  open.pipeline = {};
  open.chunks = {};
  open.timeLimitSeconds = std::min(share * request.timeLimitSeconds, seconds);
  auto fastest = fastestLayout(open, pool, *layouts.sizes, evaluate, control);
  if (!fastest)
    return fastest.takeError();
  if (!*fastest || (*fastest)->layout.pipeline == 1)
    return std::nullopt;
  return PipelineBeside{(*fastest)->layout, (*fastest)->figures.stepSeconds};
}

Plan withNoteOn(const std::optional<PipelineBeside> &pipeline, Plan plan) {
  constexpr double little = 0.01;
  if (pipeline && pipeline->seconds < plan.stepSeconds * (1 - little))
    plan.notes.push_back(
        llvm::formatv("a pipeline is faster: layout {0} takes {1}; --pipeline auto searches pipelines, too",
                      pipeline->layout.str(), formatSeconds(pipeline->seconds))
            .str());
  return plan;
}

} // namespace apc

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

static bool keepsAll(const LayoutReferences &layouts) {
  return layouts.layoutOfBest && layouts.layoutOfBest->recompute == RecomputeSetting(RecomputeChoice::None);
}

llvm::Expected<std::optional<PipelineBeside>> pipelineBeside(const PlanRequest &request,
                                                             const LayoutReferences &layouts,
                                                             EvaluateRequested evaluate, const PlanningControl &control,
                                                             double seconds) {
  constexpr double share = 0.1;
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  const bool isAsked = request.pipeline.isOn() || !layouts.refusal.empty();
  if (seconds <= 0 || isAsked || keepsAll(layouts) || !hasNodes(target->cluster.pool))
    return std::nullopt;
  PlanRequest open = request;
  open.layouts.clear();
  open.pipeline = {};
  open.chunks = {};
  open.timeLimitSeconds = std::min(share * request.timeLimitSeconds, seconds);
  auto all = costLayouts(open, ExpertNumbers::Asked, evaluate, control, Stopwatch(*control.clock));
  if (!all)
    return all.takeError();
  if (!all->best || all->layoutOfBest->pipeline == 1)
    return std::nullopt;
  return PipelineBeside{*all->layoutOfBest, all->best->stepSeconds};
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

// Layouts of experts and those that are named, each on a graph of its own.
#include "LayoutReferences.h"

#include "AllowedLayouts.h"
#include "ExpertCosting.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The request without what layouts decide.
PlanRequest openRequest(PlanRequest request) {
  request.layouts.clear();
  request.sensitivity = false;
  request.pipeline = {};
  request.chunks = {};
  request.schedule = "auto";
  request.copies = {1};
  request.recompute = RecomputeChoice::Auto;
  request.microBatch.reset();
  return request;
}

/// Those that the request allows.
llvm::Error costAllowed(ExpertCosting &experts, const PlanRequest &request, const PlanRequest &open,
                        const StepSizes &sizes) {
  return experts.cost(sizes, [&](const ParallelDegrees &layout) { return refusalOf(request, open, layout).empty(); });
}

} // namespace

bool needsOwnGraph(const ParallelDegrees &layout) {
  return layout.pipeline > 1 || layout.microBatch || layout.recompute;
}

llvm::Expected<LayoutReferences> costLayouts(const PlanRequest &request, ExpertNumbers numbers,
                                             EvaluateRequested evaluate, const PlanningControl &control,
                                             const Stopwatch &begun) {
  constexpr double leastOfExperts = 0.1, leastOfNamed = 0.25, leastOfBest = 0.5; // of the time limit
  const double mostSeconds = secondsLeft(request, begun, leastOfExperts);
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  PlanRequest open = openRequest(request);
  llvm::Expected<StepOfLayouts> step = stepOfLayouts(open, target->cluster.pool.numDevices());
  if (!step)
    return llvm::consumeError(step.takeError()), LayoutReferences();
  open.globalBatch = step->sizes.batch;
  if (numbers == ExpertNumbers::Asked)
    step->sizes.asked = askedBy(request);
  const std::string refusal = refusalOfAll(request, step->hasPins);
  LayoutCosting costing(request, open, evaluate, refusal);
  costing.setSizes(step->sizes);
  if (refusal.empty()) {
    ExpertCosting experts(request, open, target->cluster.pool, evaluate, control, mostSeconds, costing);
    if (llvm::Error error = costAllowed(experts, request, open, step->sizes))
      return std::move(error);
    StepSizes usual = step->sizes;
    usual.asked = {usual.asked.workers};
    if (fixesMoreThanWorkers(step->sizes.asked))
      if (llvm::Error error = experts.cost(usual, {}))
        return std::move(error);
  }
  for (const ParallelDegrees &layout : llvm::make_filter_range(request.layouts, needsOwnGraph))
    if (llvm::Error error = costing.addNamed(layout, secondsLeft(request, begun, leastOfNamed), control.clock))
      return std::move(error);
  return costing.take(secondsLeft(request, begun, leastOfBest));
}

llvm::Expected<std::optional<EvaluatedLayout>> fastestLayout(const PlanRequest &request, const Pool &pool,
                                                             StepSizes sizes, EvaluateRequested evaluate,
                                                             const PlanningControl &control) {
  PlanRequest open = openRequest(request);
  open.globalBatch = sizes.batch;
  sizes.asked = askedBy(request);
  LayoutCosting costing(request, open, evaluate, /*refusal=*/"");
  costing.leaveStepUnchecked();
  ExpertCosting experts(request, open, pool, evaluate, control, request.timeLimitSeconds, costing);
  if (llvm::Error error = costAllowed(experts, request, open, sizes))
    return std::move(error);
  return costing.fastest();
}

} // namespace apc

// Layouts of experts and those that are named, each on a graph of its own.
#include "LayoutReferences.h"

#include "AllowedLayouts.h"
#include "LayoutCosting.h"

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

/// The largest of `seconds`, its half, its quarter and so on of which as much is left: answers ahead, which do not know
/// yet how much will be left for them, seldom have another limit.
double limitWithin(double seconds, double left) {
  while (seconds > left)
    seconds /= 2;
  return seconds;
}

} // namespace

bool needsOwnGraph(const ParallelDegrees &layout) {
  return layout.pipeline > 1 || layout.microBatch || layout.recompute;
}

llvm::Expected<LayoutReferences> costLayouts(const PlanRequest &request, ExpertWorkers workers,
                                             EvaluateRequested evaluate, const PlanningControl &control,
                                             const Stopwatch &begun) {
  constexpr double leastOfExperts = 0.1, leastOfNamed = 0.25, leastOfBest = 0.5; // of the time limit
  const double mostSeconds = secondsLeft(request, begun, leastOfExperts);
  const Stopwatch watch(*control.clock);
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  PlanRequest open = openRequest(request);
  llvm::Expected<StepOfLayouts> step = stepOfLayouts(open, target->cluster.pool.numDevices());
  if (!step)
    return llvm::consumeError(step.takeError()), LayoutReferences();
  open.globalBatch = step->sizes.batch;
  if (workers == ExpertWorkers::Asked)
    step->sizes.workers = request.pipeline.count;
  const std::string refusal = refusalOfAll(request, step->hasPins);
  LayoutCosting costing(request, open, evaluate, refusal);
  auto mayTry = [&](const ParallelDegrees &layout) { return refusalOf(request, open, layout).empty(); };
  auto answer = [&](const LayoutQuestion &question, const std::shared_ptr<WorkClock> &clock) {
    return costing.answer(question, clock);
  };
  auto countStep = [&](const ParallelDegrees &layout, WorkClock &clock) { evaluate.countStep(open, layout, clock); };
  LayoutsAhead ahead(target->cluster.pool, step->sizes, mayTry, {answer, countStep}, control);
  auto tryLayout = [&](const ParallelDegrees &layout,
                       std::optional<double> knownSeconds) -> llvm::Expected<std::optional<LayoutFigures>> {
    const double share = shareOfLayouts(request, costing.fitsWhole());
    const double seconds = std::min(share * request.timeLimitSeconds, mostSeconds);
    const double left = seconds - watch.seconds();
    if (control.stop && control.stop->load()) // which a note of the search tells
      return std::nullopt;
    if (left <= 0) {
      costing.cutShort(share);
      return std::nullopt;
    }
    if (control.report)
      control.report("costing layout " + layout.str() + costing.bestText());
    return costing.take(layout, ahead.answerOf({layout, knownSeconds, limitWithin(seconds, left)}));
  };
  if (refusal.empty()) {
    auto experts = tryExpertLayouts(target->cluster.pool, step->sizes, tryLayout, mayTry);
    if (!experts)
      return experts.takeError();
    for (const EvaluatedLayout &evaluated : *experts)
      costing.add(evaluated);
  }
  for (const ParallelDegrees &layout : llvm::make_filter_range(request.layouts, needsOwnGraph))
    if (llvm::Error error = costing.addNamed(layout, secondsLeft(request, begun, leastOfNamed), control.clock))
      return std::move(error);
  return costing.take(secondsLeft(request, begun, leastOfBest));
}

} // namespace apc

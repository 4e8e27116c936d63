// The step of a point; then what is asked of it.
#include "PlanPoint.h"

#include "../ModelPins.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The step of a request, and where it is to run.
struct ImportedPoint {
  PlanningTarget target;
  StepsAtHand::Step step;
  double begin;                          ///< a reading of the clock
  std::shared_ptr<const WorkClock> wall; ///< goes by the wall clock since then
};

/// \p policies: for the step that is as fast as with any of them; none for that of the request.
llvm::Expected<ImportedPoint> importPoint(const PlanRequest &request, const PlanningControl &control,
                                          StepsAtHand &steps, llvm::ArrayRef<RecomputeSetting> policies = {}) {
  auto wall = std::make_shared<const WorkClock>(0);
  const double begin = control.clock->seconds();
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  if (control.report)
    control.report("importing " + request.modelPath);
  auto step = steps.fastestOf(request, policies, target->cluster.pool, *control.clock, control.numThreads);
  if (!step)
    return step.takeError();
  return ImportedPoint{std::move(*target), std::move(*step), begin, std::move(wall)};
}

/// `plan` with the facts about its model.
Plan withFacts(Plan plan, const PlanRequest &request, const ImportedPoint &point) {
  plan.modelSha256 = point.step->report.sha256;
  for (const auto &[dim, size] : request.dims)
    if (size == 0 && !point.step->report.unknownDims.contains(dim))
      plan.notes.push_back("dim '" + dim + "' is bound to 0: values with it hold nothing, and take no time");
  llvm::append_range(plan.notes, point.step->notes);
  llvm::append_range(plan.notes, point.step->report.notes);
  plan.timing.importSeconds = point.step->importSeconds;
  plan.timing.totalSeconds = point.wall->seconds();
  return plan;
}

PlanningControl since(double begin, PlanningControl control) {
  control.begin = begin;
  return control;
}

llvm::Expected<Plan> planImported(const ImportedPoint &point, const PlanRequest &request,
                                  const PlanningControl &control) {
  const auto &[report, graph, notes, importSeconds] = *point.step;
  auto pins = modelPins(graph, report, request, point.target.cluster.pool.numDevices());
  if (!pins)
    return pins.takeError();
  auto plan = planGraph(graph, request, point.target, *pins, since(point.begin, control));
  return plan ? withFacts(std::move(*plan), request, point) : std::move(plan);
}

} // namespace

llvm::Expected<Plan> planPoint(const PlanRequest &request, const PlanningControl &control, StepsAtHand &steps) {
  llvm::Expected<ImportedPoint> point = importPoint(request, control, steps);
  return point ? planImported(*point, request, control) : point.takeError();
}

llvm::Expected<LeastPlan> planLeast(const PlanRequest &request, llvm::ArrayRef<RecomputeSetting> policies,
                                    const PlanningControl &control, StepsAtHand &steps) {
  llvm::Expected<ImportedPoint> point = importPoint(request, control, steps, policies);
  if (!point)
    return point.takeError();
  llvm::Expected<Plan> plan = planImported(*point, request, control);
  if (!plan)
    return plan.takeError();
  auto own = steps.of(request, *control.clock);
  if (!own)
    return own.takeError();
  return LeastPlan{std::move(*plan), point->step == *own};
}

llvm::Expected<bool> recomputationOnlyAdds(const PlanRequest &request, llvm::ArrayRef<RecomputeSetting> policies,
                                           const PlanningControl &control, StepsAtHand &steps) {
  llvm::Expected<ImportedPoint> fastest = importPoint(request, control, steps, policies);
  if (!fastest)
    return fastest.takeError();
  auto own = steps.of(request, *control.clock);
  return own ? llvm::Expected<bool>(fastest->step == *own) : own.takeError();
}

llvm::Expected<Plan> evaluatePoint(const PlanRequest &request, const ParallelDegrees &layout,
                                   const PlanningControl &control, StepsAtHand &steps) {
  llvm::Expected<ImportedPoint> point = importPoint(request, control, steps);
  if (!point)
    return point.takeError();
  auto plan = evaluateLayout(point->step->graph, request, point->target, layout, since(point->begin, control));
  return plan ? withFacts(std::move(*plan), request, *point) : std::move(plan);
}

llvm::Expected<LayoutFigures> figuresOfPoint(const PlanRequest &request, const ParallelDegrees &layout,
                                             const PlanningControl &control, StepsAtHand &steps) {
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  auto step = steps.uncounted(request);
  return step ? figuresOfLayout((*step)->graph, request, *target, layout, control) : step.takeError();
}

llvm::Expected<PipelineBound> boundPoint(const PlanRequest &request, llvm::ArrayRef<RecomputeSetting> policies,
                                         const PlanningControl &control, StepsAtHand &steps) {
  llvm::Expected<ImportedPoint> point = importPoint(request, control, steps, policies);
  if (!point)
    return point.takeError();
  return boundPipeline(point->step->graph, request, point->target, since(point->begin, control));
}

} // namespace apc

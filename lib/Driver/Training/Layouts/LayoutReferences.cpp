// Layouts of experts and those that are named, each on a graph of its own.
#include "LayoutReferences.h"

#include "AllowedLayouts.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

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

/// An error of `plan` that the caller has to hand on; none where the layout cannot be.
llvm::Error ourFault(llvm::Error error, std::string &message) {
  Fault fault;
  std::tie(fault, message) = takeMessage(std::move(error));
  return fault == Fault::Internal ? llvm::make_error<PlannerError>(fault, message) : llvm::Error::success();
}

void add(LayoutReferences &known, const PlanRequest &request, EvaluatedLayout evaluated) {
  Reference reference = referenceOf(request, evaluated);
  bool mayBePlan = reference.feasible && reference.reason.empty() && mayTryExperts(request);
  known.references.push_back(std::move(reference));
  if (mayBePlan && (!known.best || evaluated.plan.stepSeconds < known.best->stepSeconds)) {
    known.best = std::move(evaluated.plan);
    known.layoutOfBest = evaluated.layout;
  }
}

} // namespace

bool needsOwnGraph(const ParallelDegrees &layout) {
  return layout.pipeline > 1 || layout.microBatch || layout.recompute;
}

llvm::Expected<LayoutReferences> costLayouts(const PlanRequest &request, ExpertWorkers workers,
                                             EvaluateRequested evaluate, const PlanningControl &control) {
  LayoutReferences known;
  const double seconds = shareOfLayouts(request) * request.timeLimitSeconds;
  const Stopwatch watch(*control.clock);
  auto secondsLeft = [&] { return seconds - watch.seconds(); };
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  PlanRequest open = openRequest(request);
  llvm::Expected<StepSizes> sizes = sizesOfStep(open);
  if (!sizes)
    return llvm::consumeError(sizes.takeError()), std::move(known);
  open.globalBatch = sizes->batch;
  if (workers == ExpertWorkers::Asked)
    sizes->workers = request.pipeline.count;
  auto tryLayout = [&](const ParallelDegrees &layout,
                       std::optional<double> knownSeconds) -> llvm::Expected<std::optional<Plan>> {
    if (secondsLeft() <= 0 || (control.stop && control.stop->load())) {
      known.isCutShort = true;
      return std::nullopt;
    }
    PlanRequest own = open;
    own.timeLimitSeconds = secondsLeft();
    if (control.report)
      control.report("costing layout " + layout.str());
    llvm::Expected<Plan> plan = evaluate(own, layout, knownSeconds);
    if (plan)
      return std::optional(std::move(*plan));
    std::string message;
    if (llvm::Error error = ourFault(plan.takeError(), message))
      return std::move(error);
    return std::nullopt;
  };
  if (mayTryExperts(request)) {
    auto mayTry = [&](const ParallelDegrees &layout) { return isAllowed(request, open, layout); };
    const MayTryLayout improves = mayTry;
    auto experts =
        tryExpertLayouts(target->cluster.pool, *sizes, tryLayout, request.pipeline.isOn() ? improves : MayTryLayout());
    if (!experts)
      return experts.takeError();
    for (EvaluatedLayout &evaluated : *experts)
      add(known, request, std::move(evaluated));
  }
  for (const ParallelDegrees &layout : llvm::make_filter_range(request.layouts, needsOwnGraph)) {
    llvm::Expected<Plan> plan = evaluate(open, layout, std::nullopt);
    std::string message;
    if (plan)
      add(known, request, {layout, std::move(*plan)});
    else if (llvm::Error error = ourFault(plan.takeError(), message))
      return std::move(error);
    else
      known.references.push_back({"layout " + layout.str(), std::nullopt, std::nullopt, false, message});
  }
  return known;
}

} // namespace apc

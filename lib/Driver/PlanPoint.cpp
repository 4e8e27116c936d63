// Import, training step, graph; then what is asked of it.
#include "PlanPoint.h"

#include "CheckNames.h"
#include "ModelPins.h"

#include "apc/Driver/GraphOfStep.h"
#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <memory>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The step of a request, and where it is to run.
struct ImportedPoint {
  PlanningTarget target;
  ImportReport report;
  OpGraph graph;
  std::vector<std::string> notes; ///< on the step
  Clock::time_point begin;
  double importSeconds = 0;
};

llvm::Expected<ImportedPoint> importPoint(const PlanRequest &request, const PlanningControl &control) {
  const Clock::time_point begin = Clock::now();
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  if (control.report)
    control.report("importing " + request.modelPath);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model = importForRequest(request, context);
  if (!model)
    return model.takeError();
  const double importSeconds = secondsSince(begin);
  std::vector<std::string> notes = trainingNotes(*model->module, request);
  if (llvm::Error error = recognizeAndBuildStep(model->module, request))
    return std::move(error);
  llvm::Expected<OpGraph> graph = graphOfStep(*model->module, request.modelPath, request);
  if (!graph)
    return graph.takeError();
  if (llvm::Error error = checkNames(*graph, request.modelPath))
    return std::move(error);
  return ImportedPoint{std::move(*target), std::move(model->report), std::move(*graph), std::move(notes), begin,
                       importSeconds};
}

/// `plan` with the facts about its model.
Plan withFacts(Plan plan, const PlanRequest &request, const ImportedPoint &point) {
  plan.modelSha256 = point.report.sha256;
  for (const auto &[dim, size] : request.dims)
    if (size == 0)
      plan.notes.push_back("dim '" + dim + "' is bound to 0: values with it hold nothing, and take no time");
  llvm::append_range(plan.notes, point.notes);
  llvm::append_range(plan.notes, point.report.notes);
  plan.timing.importSeconds = point.importSeconds;
  plan.timing.totalSeconds = secondsSince(point.begin);
  return plan;
}

PlanningControl since(Clock::time_point begin, PlanningControl control) {
  control.begin = begin;
  return control;
}

} // namespace

llvm::Expected<Plan> planPoint(const PlanRequest &request, const PlanningControl &control) {
  llvm::Expected<ImportedPoint> point = importPoint(request, control);
  if (!point)
    return point.takeError();
  auto pins = modelPins(point->graph, point->report, request, point->target.cluster.pool.numDevices());
  if (!pins)
    return pins.takeError();
  auto plan = planGraph(point->graph, request, point->target, *pins, since(point->begin, control));
  return plan ? withFacts(std::move(*plan), request, *point) : std::move(plan);
}

llvm::Expected<Plan> evaluatePoint(const PlanRequest &request, const ParallelDegrees &layout,
                                   const PlanningControl &control) {
  llvm::Expected<ImportedPoint> point = importPoint(request, control);
  if (!point)
    return point.takeError();
  auto plan = evaluateLayout(point->graph, request, point->target, layout, since(point->begin, control));
  return plan ? withFacts(std::move(*plan), request, *point) : std::move(plan);
}

llvm::Expected<PointGraph> graphOfPoint(const PlanRequest &request) {
  llvm::Expected<ImportedPoint> point = importPoint(request, {});
  if (!point)
    return point.takeError();
  return PointGraph{std::move(point->graph), std::move(point->report.sha256)};
}

llvm::Expected<PipelineBound> boundPoint(const PlanRequest &request, const PlanningControl &control) {
  llvm::Expected<ImportedPoint> point = importPoint(request, control);
  if (!point)
    return point.takeError();
  return boundPipeline(point->graph, request, point->target, since(point->begin, control));
}

} // namespace apc

// The main job: import, graph, plan.
#include "apc/Driver/PlanModel.h"

#include "CheckNames.h"
#include "ModelPins.h"
#include "Training/ChooseTraining.h"
#include "Training/LayoutReferences.h"
#include "Training/TrainingPoints.h"

#include "apc/Driver/GraphOfStep.h"
#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"
#include "apc/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }
PlanningControl since(Clock::time_point begin, PlanningControl control) {
  control.begin = begin;
  return control;
}

using PlanWith =
    llvm::function_ref<llvm::Expected<Plan>(const OpGraph &, const PlanningTarget &, const ImportReport &)>;

/// Reads target and model, plans, and adds the facts about the model.
llvm::Expected<Plan> planImported(const PlanRequest &request, const PlanningControl &control, Clock::time_point begin,
                                  PlanWith planWith) {
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
  double importSeconds = secondsSince(begin);
  std::vector<std::string> notes = trainingNotes(*model->module, request);
  if (llvm::Error error = recognizeAndBuildStep(model->module, request))
    return error;
  llvm::Expected<OpGraph> graph = graphOfStep(*model->module, request.modelPath, request);
  if (!graph)
    return graph.takeError();
  if (llvm::Error error = checkNames(*graph, request.modelPath))
    return error;
  llvm::Expected<Plan> plan = planWith(*graph, *target, model->report);
  if (!plan)
    return plan.takeError();
  plan->modelSha256 = model->report.sha256;
  for (const auto &[dim, size] : request.dims)
    if (size == 0)
      plan->notes.push_back("dim '" + dim + "' is bound to 0: values with it hold nothing, and take no time");
  llvm::append_range(plan->notes, notes);
  llvm::append_range(plan->notes, model->report.notes);
  plan->timing.importSeconds = importSeconds;
  plan->timing.totalSeconds = secondsSince(begin);
  return plan;
}

/// A request that leaves no batch and no recomputation open, or is planned as the model was exported.
llvm::Expected<Plan> planPoint(const PlanRequest &request, const PlanningControl &control) {
  Clock::time_point begin = Clock::now();
  return planImported(
      request, control, begin,
      [&](const OpGraph &graph, const PlanningTarget &target, const ImportReport &report) -> llvm::Expected<Plan> {
        llvm::Expected<ModelPins> pins = modelPins(graph, report, request, target.cluster.pool.numDevices());
        if (!pins)
          return pins.takeError();
        return planGraph(graph, request, target, *pins, since(begin, control));
      });
}

} // namespace

llvm::Expected<Plan> searchModel(const PlanRequest &request, const PlanningControl &control) {
  auto plan = [&](const PlanRequest &own) { return planPoint(own, control); };
  auto first = [&](const PlanRequest &own) { return planPoint(own, control.with(PlanningEffort::FirstAnswers)); };
  llvm::Expected<Plan> found =
      leavesTrainingOpen(request) ? chooseTraining(request, plan, first, control) : plan(request);
  return found ? withBestTried(std::move(*found), control.stop && control.stop->load()) : std::move(found);
}

llvm::Expected<Plan> planModel(const PlanRequest &request, const PlanningControl &control) {
  if (request.mode == StepMode::Infer)
    return searchModel(request, control);
  PlanningControl quiet = control;
  quiet.report = nullptr;
  return planBesideLayouts(
      request, [&](const PlanRequest &own) { return searchModel(own, control); },
      [&](const PlanRequest &own, const ParallelDegrees &layout) { return evaluateModel(own, layout, quiet); },
      control);
}

llvm::Expected<Plan> evaluateModel(const PlanRequest &request, const ParallelDegrees &layout,
                                   const PlanningControl &control) {
  llvm::Expected<PlanRequest> own = requestOfLayout(request, layout);
  if (!own)
    return own.takeError();
  Clock::time_point begin = Clock::now();
  return planImported(*own, control, begin,
                      [&](const OpGraph &graph, const PlanningTarget &target, const ImportReport &) {
                        return evaluateLayout(graph, *own, target, layout, since(begin, control));
                      });
}

} // namespace apc

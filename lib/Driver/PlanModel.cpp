// The main job: all points of a request, beside layouts of experts.
#include "apc/Driver/PlanModel.h"

#include "PlanPoint.h"
#include "Training/ChooseTraining.h"
#include "Training/LayoutReferences.h"
#include "Training/TrainingPoints.h"

#include "apc/Driver/ImportStep.h"

namespace apc {

llvm::Expected<Plan> searchModel(const PlanRequest &request, const PlanningControl &control) {
  auto plan = [&](const PlanRequest &own) { return planPoint(own, control); };
  auto first = [&](const PlanRequest &own) { return planPoint(own, control.with(PlanningEffort::FirstAnswers)); };
  auto bound = [&](const PlanRequest &own) { return boundPoint(own, control); };
  PointPlanner points{plan, first, bound, control};
  llvm::Expected<Plan> found = leavesTrainingOpen(request) ? chooseTraining(request, points) : plan(request);
  return found ? withBestTried(std::move(*found), points.isStopped()) : std::move(found);
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
  return evaluatePoint(*own, layout, control);
}

} // namespace apc

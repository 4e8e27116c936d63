// The main job: all points of a request, beside layouts of experts.
#include "apc/Driver/PlanModel.h"

#include "Points/PlanPoint.h"
#include "Training/ChooseTraining.h"
#include "Training/ExplainShortage.h"
#include "Training/Layouts/LayoutReferences.h"
#include "Training/TrainingPoints.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/Support/Error.h"

#include <map>
#include <utility>

namespace apc {

static llvm::Expected<Plan> searchWith(StepsAtHand &steps, const PlanRequest &asked, const PlanningControl &control) {
  llvm::Expected<PlanRequest> closed = withoutOpenChoices(asked);
  if (!closed)
    return closed.takeError();
  const PlanRequest &request = *closed;
  std::map<std::pair<StepsAtHand::Key, std::string>, std::shared_ptr<StagePatterns>> patterns; // by step and workers
  auto patternsOf = [&](const PlanRequest &own) {
    std::shared_ptr<StagePatterns> &known = patterns[{StepsAtHand::keyOf(own), own.pipeline.str()}];
    return known ? known : known = makeStagePatterns();
  };
  auto plan = [&](const PlanRequest &own) { return planPoint(own, control, steps); };
  const PlanningControl brief = control.withoutExplanation();
  auto whole = [&](const PlanRequest &own) { return planPoint(own, brief.following(patternsOf(own)), steps); };
  auto quick = [&](const PlanRequest &own) {
    return planPoint(own, brief.with(PlanningEffort::EasyProofs).following(patternsOf(own)), steps);
  };
  auto first = [&](const PlanRequest &own, std::optional<double> known) {
    PlanningControl quick = brief.with(PlanningEffort::FirstAnswers).against(known).following(patternsOf(own));
    return planPoint(own, quick, steps);
  };
  const std::vector<RecomputeSetting> policies = policiesOf(request);
  auto least = [&](const PlanRequest &own) {
    return planLeast(own, policies, brief.following(patternsOf(own)), steps);
  };
  auto onlyAdds = [&](const PlanRequest &own) { return recomputationOnlyAdds(own, policies, control, steps); };
  auto bound = [&](const PlanRequest &own) { return boundPoint(own, policies, control, steps); };
  PointPlanner points{whole, plan, quick, first, least, onlyAdds, bound, control};
  llvm::Expected<Plan> found = leavesTrainingOpen(request) ? chooseOrExplain(request, points) : plan(request);
  return found ? withBestTried(std::move(*found), points.isStopped()) : std::move(found);
}

static llvm::Expected<Plan> evaluateWith(StepsAtHand &steps, const PlanRequest &request, const ParallelDegrees &layout,
                                         const PlanningControl &control) {
  llvm::Expected<PlanRequest> own = requestOfLayout(request, layout);
  if (!own)
    return own.takeError();
  return evaluatePoint(*own, layout, control, steps);
}

llvm::Expected<Plan> searchModel(const PlanRequest &request, const PlanningControl &control) {
  StepsAtHand steps;
  return searchWith(steps, request, control.within(request.timeLimitSeconds));
}

llvm::Expected<Plan> planModel(const PlanRequest &request, const PlanningControl &caller) {
  if (request.mode == StepMode::Infer)
    return searchModel(request, caller);
  if (llvm::Error error = checkPipelineSettings(request))
    return error;
  const PlanningControl control = caller.within(request.timeLimitSeconds);
  StepsAtHand steps;
  PlanningControl quiet = control;
  quiet.report = nullptr;
  quiet.search = nullptr;
  auto figures = [&](const PlanRequest &asked, const ParallelDegrees &layout, std::optional<double> knownSeconds,
                     const std::shared_ptr<WorkClock> &clock) -> llvm::Expected<LayoutFigures> {
    llvm::Expected<PlanRequest> own = requestOfLayout(asked, layout);
    if (!own)
      return own.takeError();
    PlanningControl beside = quiet.against(knownSeconds);
    beside.clock = clock;
    return figuresOfPoint(*own, layout, beside, steps);
  };
  auto countStep = [&](const PlanRequest &asked, const ParallelDegrees &layout, WorkClock &clock) {
    if (llvm::Expected<PlanRequest> own = requestOfLayout(asked, layout))
      llvm::consumeError(steps.of(*own, clock).takeError());
    else
      llvm::consumeError(own.takeError());
  };
  auto search = [&](const PlanRequest &own, const LayoutReferences &known) {
    std::optional<double> seconds = known.best ? std::optional(known.best->stepSeconds) : std::nullopt;
    PlanningControl from = control.beginningWith(known.layoutOfBest, seconds);
    from.knownAlone = known.alone;
    return searchWith(steps, own, from);
  };
  auto planOf = [&](const PlanningControl &how) {
    return [&steps, how](const auto &own, const auto &layout) { return evaluateWith(steps, own, layout, how); };
  };
  auto plan = planOf(quiet.withoutReasons()), withReasons = planOf(quiet);
  return planBesideLayouts(request, search, {figures, countStep, plan, withReasons}, control);
}

llvm::Expected<Plan> evaluateModel(const PlanRequest &request, const ParallelDegrees &layout,
                                   const PlanningControl &control) {
  if (llvm::Error error = checkStorage(request, layout))
    return std::move(error);
  StepsAtHand steps;
  llvm::Expected<Plan> plan = evaluateWith(steps, request, layout, control.within(request.timeLimitSeconds));
  return plan ? std::move(plan) : inWordsOf(layout, plan.takeError());
}

} // namespace apc

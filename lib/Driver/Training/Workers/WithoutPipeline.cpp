// One worker for the whole model.
#include "WithoutPipeline.h"
#include "../ChooseTraining.h"
#include "../TrainingPoints.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/NothingFits.h"

#include <algorithm>

namespace apc {

/// The step in as few micro-batches as may be, with everything kept and with most recomputed; and in as many as may be.
/// \p request has one worker.
static llvm::Expected<std::vector<PlanRequest>> smallSteps(const PlanRequest &request) {
  auto requests = microBatchRequests(request);
  if (!requests)
    return requests.takeError();
  const std::vector<RecomputeSetting> policies = policiesOf(request);
  std::vector<PlanRequest> small{requests->front()};
  small.front().recompute = policies.front();
  if (policies.size() > 1)
    small.push_back(requests->front());
  if (requests->size() > 1)
    small.push_back(requests->back());
  for (PlanRequest &own : llvm::MutableArrayRef(small).drop_front())
    own.recompute = policies.back();
  return small;
}

llvm::Expected<Without> asWithout(const PlanRequest &own, llvm::Expected<Plan> found, bool isBounded) {
  if (found)
    return Without{*found, triedOf(*found), isBounded};
  auto [error, tried] = triedBefore(found.takeError());
  auto [fault, message] = takeMessage(std::move(error));
  if (fault != Fault::NoPlan)
    return llvm::make_error<PlannerError>(fault, message);
  if (tried.empty())
    tried.push_back(failedPointOf(own, microBatchesOf(own), "does not fit the memory"));
  return Without{std::nullopt, std::move(tried)};
}

/// All points of \p own, which has one worker.
static llvm::Expected<Without> chooseAll(const PlanRequest &own, const PointPlanner &points) {
  return asWithout(own, leavesTrainingOpen(own) ? chooseTraining(own, points) : points.whole(own), /*isBounded=*/true);
}

/// The same from the fastest layout without a pipeline, where one is known.
static llvm::Expected<Without> chooseFromLayout(const PlanRequest &own, const PointPlanner &points) {
  const std::optional<KnownStep> &alone = points.control.knownAlone;
  const PlanningControl &control = points.control;
  const PlanningControl from = alone ? control.beginningWith(alone->layout, control.knownSeconds) : control;
  return chooseAll(own, points.with(from));
}

/// Is a pipeline so fast that the step without one is not worth a search?
static bool isClearlyFaster(std::optional<double> pipelineSeconds, double without) {
  constexpr double clearly = 0.9;
  return pipelineSeconds && *pipelineSeconds < clearly * without;
}

llvm::Expected<Without> planWithout(const PlanRequest &request, const PointPlanner &points) {
  if (request.pipeline.count)
    return Without{std::nullopt, {}, /*isBounded=*/true};
  PlanRequest own = request;
  own.pipeline = {1};
  if (const std::optional<KnownStep> &alone = points.control.knownAlone;
      alone && !isClearlyFaster(points.control.knownSeconds, alone->seconds)) {
    own.timeLimitSeconds *= 1.0 / 2;
    return chooseFromLayout(own, points);
  }
  own.timeLimitSeconds *= 1.0 / 3;
  auto small = smallSteps(own);
  if (!small)
    return small.takeError();
  Without without;
  for (const PlanRequest &point : *small) {
    llvm::Expected<Plan> found = points.first(point, std::nullopt);
    const bool isSlow = found && isClearlyFaster(points.control.knownSeconds, found->stepSeconds);
    if (found && &point == &small->front() && !isSlow)
      return chooseAll(own, points);
    if (found)
      return Without{*found, withTried(std::move(without.tried), triedOf(*found))};
    auto [fault, message] = takeMessage(found.takeError());
    const bool mayBeRefused = fault == Fault::Input && hasOpenMicroBatches(request);
    if (mayBeRefused && &point == &small->front())
      return chooseAll(own, points);
    if (fault != Fault::NoPlan && !mayBeRefused)
      return llvm::make_error<PlannerError>(fault, message);
    std::string why = mayBeRefused ? "is refused: " + message : "does not fit the memory";
    without.tried.push_back(failedPointOf(point, microBatchesOf(point), std::move(why)));
  }
  return without;
}

PlanningControl beside(const Without &without, const PlanningControl &control) {
  if (!without.plan || !control.knownSeconds)
    return control;
  return control.against(std::min(*control.knownSeconds, without.plan->stepSeconds));
}

llvm::Expected<Without> planWithoutAgain(Without quick, const std::optional<Plan> &pipeline, const PlanRequest &request,
                                         const PointPlanner &points, double seconds) {
  bool isClear = quick.plan && pipeline && isClearlyFaster(pipeline->stepSeconds, quick.plan->stepSeconds);
  if (!quick.plan || quick.isBounded || isClear || seconds <= 0 || points.isStopped())
    return quick;
  PlanRequest own = request;
  own.pipeline = {1};
  own.timeLimitSeconds = seconds;
  llvm::Expected<Without> all = chooseFromLayout(own, points);
  if (!all)
    return all;
  all->tried = withTried(std::move(quick.tried), all->tried);
  if (!all->plan || isBetter(rankOf(*quick.plan), rankOf(*all->plan)))
    all->plan = std::move(quick.plan);
  all->isBounded = false;
  return all;
}

} // namespace apc

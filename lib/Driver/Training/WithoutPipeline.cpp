// One worker for the whole model.
#include "WithoutPipeline.h"

#include "ChooseTraining.h"
#include "TrainingPoints.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/NothingFits.h"

namespace apc {

llvm::Expected<Without> planWithout(const PlanRequest &request, const PointPlanner &points) {
  if (request.pipeline.count)
    return Without();
  PlanRequest own = request;
  own.pipeline = {1};
  constexpr double share = 1.0 / 3;
  own.timeLimitSeconds *= share;
  llvm::Expected<Plan> found = leavesTrainingOpen(own) ? chooseTraining(own, points) : points.whole(own);
  if (found)
    return Without{*found, triedOf(*found)};
  auto [error, tried] = triedBefore(found.takeError());
  auto [fault, message] = takeMessage(std::move(error));
  if (fault != Fault::NoPlan)
    return llvm::make_error<PlannerError>(fault, message);
  if (tried.empty())
    tried.push_back(failedPointOf(own, microBatchesOf(own), "does not fit the memory"));
  return Without{std::nullopt, std::move(tried)};
}

} // namespace apc

// Points first, reasons last.
#include "ExplainShortage.h"

#include "ChooseTraining.h"
#include "TimeShare.h"
#include "TrainingPoints.h"

#include "apc/Planning/NothingFits.h"

namespace apc {

llvm::Expected<Plan> chooseOrExplain(const PlanRequest &request, const PointPlanner &points) {
  const Stopwatch watch(*points.control.clock);
  llvm::Expected<Plan> plan = chooseTraining(request, points);
  if (plan)
    return plan;
  std::optional<NothingFits::Unexplained> unexplained;
  auto [error, tried] = triedBefore(llvm::handleErrors(plan.takeError(), [&](std::unique_ptr<NothingFits> own) {
    unexplained = own->getUnexplained();
    return llvm::Error(std::move(own));
  }));
  const double left = request.timeLimitSeconds - watch.seconds();
  if (!unexplained || !points.control.explainsShortage || left <= 0 || points.isStopped())
    return std::move(error);
  llvm::consumeError(std::move(error));
  PlanRequest own = unexplained->last;
  own.timeLimitSeconds = left;
  llvm::Expected<Plan> found = points.explained(own);
  if (found)
    return boundByAll(withTimeLimitOf(request, std::move(*found)), /*bound=*/0);
  auto [fault, reason] = takeMessage(found.takeError());
  if (fault != Fault::NoPlan)
    return llvm::make_error<PlannerError>(fault, reason);
  return llvm::make_error<NothingFits>(unexplained->message + reason, std::move(tried));
}

} // namespace apc

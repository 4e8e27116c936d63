// The point of a layout without a pipeline.
#include "LayoutPoint.h"
#include "WithoutPipeline.h"

#include "../TrainingPoints.h"

#include "apc/Support/Error.h"

namespace apc {

llvm::Expected<Without> planLayoutWithout(const PlanRequest &request, const PointPlanner &points) {
  constexpr double about = 0.97, share = 0.15; // of its seconds; of the time
  const std::optional<KnownStep> &alone = points.control.knownAlone;
  const std::optional<double> &known = points.control.knownSeconds;
  if (request.pipeline.count || !alone || !known || *known < about * alone->seconds)
    return Without();
  PlanRequest own = request;
  own.pipeline = {1};
  own.timeLimitSeconds *= share;
  auto all = microBatchRequests(own);
  if (!all)
    return all.takeError();
  const std::optional<PlanRequest> point = pointOfLayout(alone->layout, *all, policiesOf(own).front());
  if (!point)
    return Without();
  llvm::Expected<Without> without = asWithout(*point, points.quick(*point), /*isBounded=*/false);
  if (without)
    return without;
  auto [fault, message] = takeMessage(without.takeError());
  if (fault != Fault::Input) // a point that is refused, as pins may refuse its micro-batches, is left out
    return llvm::make_error<PlannerError>(fault, message);
  return Without();
}

} // namespace apc

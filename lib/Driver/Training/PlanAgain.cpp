// The numbers of the best quick plan, searched to the end.
#include "PlanAgain.h"

#include "apc/Support/Error.h"

namespace apc {

llvm::Expected<Plan> planAgain(const PipelineTrials &trials, PlanOfRequest plan) {
  const Plan &first = *trials.all().found();
  PlanRequest own = first.request;
  own.schedule = first.pipeline->schedule;
  own.chunks = {first.pipeline->chunks};
  own.timeLimitSeconds = trials.secondsLeft();
  llvm::Expected<Plan> again = own.timeLimitSeconds > trials.secondsOfPoint() ? plan(own) : Plan(first);
  if (!again) {
    auto [fault, message] = takeMessage(again.takeError());
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    again = Plan(first); // the user stopped, or the time was over
  }
  std::vector<TriedPoint> tried = withTried(trials.all().tried(), again->tried);
  bool isBetter = apc::isBetter(rankOf(*again), rankOf(first));
  double bound = std::max(again->lowerBoundSeconds, first.lowerBoundSeconds); // of the same numbers
  if (!isBetter)
    *again = first;
  Plan best = boundByAll(std::move(*again), bound);
  best.request.schedule = first.request.schedule;
  best.request.chunks = first.request.chunks;
  best.tried = std::move(tried);
  return best;
}

} // namespace apc

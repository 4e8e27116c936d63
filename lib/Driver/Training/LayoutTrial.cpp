// The point of the layout that is known, and what follows from it for others.
#include "TrainingTrials.h"
#include "Workers/LayoutPoint.h"
#include "Workers/NearPolicies.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

llvm::Error TrainingTrials::tryLayout(llvm::ArrayRef<PlanRequest> all) {
  const bool isOnly = all.size() == 1 && policies.size() == 1;
  const std::optional<PlanRequest> point = pointOfLayout(control.knownLayout, all, policies.front());
  if (isOnly || !point)
    return llvm::Error::success();
  const double alone = all.size() > 1 ? 0.25 : 0.5; // as any first policy has
  const double share = point->recompute == RecomputeChoice::None ? alone : 0.3;
  auto found = tryOne(*point, share * secondsLeft());
  if (found && *found)
    ofLayout = {*point, **found};
  return found.takeError();
}

bool TrainingTrials::isNearLayout(const PlanRequest &point) const {
  const PlanRequest &own = ofLayout->first;
  if (own.microBatch != point.microBatch)
    return false;
  std::vector<RecomputeSetting> near{own.recompute};
  if (!own.recompute.layers) // both policies of a mix were costed
    for (llvm::ArrayRef<RecomputeSetting> others :
         {keepingMore(policies, own.recompute), keepingLess(policies, own.recompute)})
      llvm::append_range(near, others.take_front(1));
  return llvm::is_contained(near, point.recompute);
}

llvm::Expected<std::optional<double>> TrainingTrials::leastBesideLayout(const PlanRequest &point) {
  if (!ofLayout)
    return std::nullopt;
  const bool isOther = ofLayout->first.microBatch != point.microBatch;
  if (isOther ? !isLed() : ofLayout->first.recompute == RecomputeChoice::None)
    return std::nullopt;
  llvm::Expected<double> least = leastSecondsFrom(point);
  return least ? llvm::Expected<std::optional<double>>(*least) : least.takeError();
}

llvm::Expected<std::optional<TrainingTrials::Fitting>> TrainingTrials::tryPolicy(const PlanRequest &trial,
                                                                                 double seconds) {
  const bool isOfLayout = ofLayout && ofLayout->first.microBatch == trial.microBatch;
  if (isOfLayout && ofLayout->first.recompute == trial.recompute)
    return ofLayout->second;
  return tryOne(trial, seconds);
}

} // namespace apc

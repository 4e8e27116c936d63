// The point of the layout that is known, and what follows from it for others.
#include "TrainingTrials.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

llvm::Error TrainingTrials::tryLayout(llvm::ArrayRef<PlanRequest> all) {
  const std::optional<ParallelDegrees> &layout = control.knownLayout;
  const bool isOnly = all.size() == 1 && policies.size() == 1;
  if (isOnly || !layout || layout->pipeline > 1 || !layout->microBatch)
    return llvm::Error::success();
  const int64_t samples = *layout->microBatch * layout->data;
  const auto *point = llvm::find_if(all, [&](const PlanRequest &own) { return own.microBatch == samples; });
  if (point == all.end())
    return llvm::Error::success();
  PlanRequest own = *point;
  own.recompute = layout->recompute.value_or(RecomputeChoice::None);
  const double alone = all.size() > 1 ? 0.25 : 0.5; // as any first policy has
  const double share = own.recompute == RecomputeChoice::None ? alone : 0.3;
  auto found = tryOne(own, share * secondsLeft());
  if (found && *found)
    ofLayout = {own, **found};
  return found.takeError();
}

llvm::Expected<std::optional<double>> TrainingTrials::leastBesideLayout(const PlanRequest &point) {
  const bool isOther = ofLayout && !(ofLayout->first.recompute == RecomputeChoice::None);
  if (!isOther || ofLayout->first.microBatch != point.microBatch)
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

// Bounds of the points of a training step, of those that were planned and of those that were not.
#include "../TrainingTrials.h"

#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

std::pair<std::optional<int64_t>, double> TrainingTrials::leastBounded(llvm::ArrayRef<PlanRequest> left) const {
  std::vector<std::pair<std::optional<int64_t>, double>> all;
  for (const auto &[microBatch, own] : bounds) {
    PlanRequest point = request;
    point.microBatch = microBatch;
    std::optional<double> least = own.ofAll;
    for (double bound : llvm::make_second_range(own.ofPoints))
      least = own.ofAll ? least : std::min(least.value_or(bound), bound);
    all.emplace_back(microBatch, std::max(*least, knownLeast(point)));
  }
  for (const PlanRequest &point : left)
    all.emplace_back(point.microBatch, knownLeast(point));
  return *llvm::min_element(all, [](const auto &a, const auto &b) { return a.second < b.second; });
}

llvm::Error TrainingTrials::raiseLeast(llvm::ArrayRef<PlanRequest> left) {
  while (secondsLeft() > 0 && !control.clock->isOver() && !takesAny(request)) {
    const auto [microBatch, bound] = leastBounded(left);
    PlanRequest own = request;
    own.microBatch = microBatch;
    own.recompute = policies.front();
    const bool isKnown = least.count(microBatch) && least.at(microBatch).askedForLayers;
    if (isKnown || isProven(bound) || !(best->isByMemory || isShortOfMemory(own)))
      break;
    if (llvm::Error error = boundByLayers(own))
      return error;
  }
  return llvm::Error::success();
}

bool TrainingTrials::leaveOut(const PlanRequest &point) {
  const double known = knownLeast(point);
  if (bounds.count(point.microBatch) || !isProven(known)) // `isProven` is false where nothing was found
    return false;
  bounds[point.microBatch].ofAll = known;
  return true;
}

double TrainingTrials::knownLeastOf(llvm::ArrayRef<PlanRequest> points) const {
  double least = knownLeast(points.front());
  for (const PlanRequest &point : points.drop_front())
    least = std::min(least, knownLeast(point));
  return least;
}

double TrainingTrials::knownLeast(const PlanRequest &point) const {
  double most = leastWithAnyMemory(point);
  for (const auto &[microBatch, own] : least)
    if (microBatch >= point.microBatch && own.ofLayers)
      most = std::max(most, own.ofLayers->seconds(request, microBatchesOf(point)).value_or(0));
  return most;
}

double TrainingTrials::leastWithAnyMemory(const PlanRequest &point) const {
  double most = 0;
  for (const auto &[microBatch, own] : least)
    if (microBatch >= point.microBatch)
      most = std::max(most, own.seconds);
  return most;
}

llvm::Expected<double> TrainingTrials::evenShareOf(PlanRequest own) {
  own.pipeline = {1};
  own.timeLimitSeconds = 0;
  llvm::Expected<PipelineBound> bound = plan.bound(own);
  return bound ? llvm::Expected<double>(bound->shareSeconds) : bound.takeError();
}

double TrainingTrials::secondsAddedTo(const PlanRequest &own) {
  PlanRequest most = own;
  most.recompute = policies.front();
  if (own.recompute == most.recompute)
    return 0;
  auto shareOf = [&](const PlanRequest &step) {
    llvm::Expected<double> share = evenShareOf(step);
    if (share)
      return *share;
    llvm::consumeError(share.takeError()); // planning tells of the error, too
    return 0.0;
  };
  auto [without, isNew] = shares.try_emplace(own.microBatch, 0);
  if (isNew)
    without->second = shareOf(most);
  return without->second > 0 ? std::max(0.0, shareOf(own) - without->second) : 0;
}

} // namespace apc

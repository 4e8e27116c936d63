// A point, with one policy or several, and those that numbers of workers begin with.
#include "PipelineTrials.h"
#include "Workers/EvenShares.h"
#include "Workers/LayoutPoint.h"
#include "Workers/NearPolicies.h"
#include "Workers/TakenPoints.h"

#include "apc/Driver/ImportStep.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

llvm::Expected<PipelineTrials::Outcome> PipelineTrials::tryPoint(const PlanRequest &point, double end) {
  constexpr double most = 0.2; // of the time limit: others may be faster
  auto found = trials.tryOne(
      point, std::min(most * request.timeLimitSeconds, trials.secondsLeft() - end), [&](const PlanRequest &own) {
        const std::optional<double> known = points.control.knownSeconds;
        return points.first(own, bestHere ? std::min(bestHere->rank.seconds, known.value_or(bestHere->rank.seconds))
                                          : known);
      });
  if (!found)
    return found.takeError();
  if (!*found)
    return Outcome::FitsNot;
  if (bestHere && !isBetter((*found)->rank, bestHere->rank))
    return Outcome::IsWorse;
  bestHere = Here{(*found)->rank, point, (*found)->isByMemory};
  return Outcome::IsBest;
}

llvm::Error PipelineTrials::tryPolicies(llvm::ArrayRef<RecomputeSetting> others, double end) {
  PlanRequest point = bestHere->point;
  unsigned worse = 0;
  constexpr unsigned patience = 2;
  for (const RecomputeSetting &policy : others) {
    const bool keepsLess = llvm::is_contained(keepingLess(policies, bestHere->point.recompute), policy);
    if (trials.secondsLeft() <= end || (keepsLess && !bestHere->isByMemory) || worse == patience)
      break;
    point.recompute = policy;
    auto outcome = tryPoint(point, end);
    if (!outcome)
      return outcome.takeError();
    worse = *outcome == Outcome::IsBest ? 0 : worse + 1;
  }
  return llvm::Error::success();
}

llvm::Expected<bool> PipelineTrials::tryUntilOneFits(llvm::ArrayRef<PlanRequest> points, double end) {
  bool areRefused = true;
  for (PlanRequest point : points)
    for (const RecomputeSetting &policy : policies) {
      bool isOver = trials.isStopped() || (trials.secondsLeft() <= end && (hasPlan || trials.found()));
      if (bestHere || isOver)
        return false;
      point.recompute = policy;
      if (auto outcome = tryPoint(point, end); !outcome)
        return outcome.takeError();
      if (trials.wasRefused())
        break;
      areRefused = false;
    }
  return areRefused;
}

llvm::Expected<std::vector<PlanRequest>> PipelineTrials::pointsOf(int64_t workers) const {
  return takenPoints(request, workers);
}

llvm::Error PipelineTrials::begin(int64_t workers, double end) {
  auto all = pointsOf(workers);
  if (!all)
    return all.takeError();
  bestHere.reset();
  if (std::optional<PlanRequest> point = pointOfLayout(points.control.knownLayout, *all, policies.front()))
    if (auto outcome = tryPoint(*point, end); !outcome)
      return outcome.takeError();
  if (bestHere)
    bestHere->isOfLayout = true;
  const size_t first = firstToTry(pool, workers, *all);
  auto areRefused = tryUntilOneFits(llvm::ArrayRef(*all).drop_front(first), end);
  if (areRefused && *areRefused) {
    std::reverse(all->begin(), all->begin() + static_cast<std::ptrdiff_t>(first));
    areRefused = tryUntilOneFits(llvm::ArrayRef(*all).take_front(first), end);
  }
  if (!areRefused)
    return areRefused.takeError();
  if (bestHere)
    bestOf.insert_or_assign(workers, *bestHere);
  return *areRefused && !bestHere ? trials.lastRefusal() : llvm::Error::success();
}

} // namespace apc

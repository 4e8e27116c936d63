// The points of a pipeline that were planned: micro-batches x policies of recomputation.
#pragma once

#include "PointPlanner.h"
#include "TrainingTrials.h"

namespace apc {

/// Tries the points of one number of workers.
class PipelineTrials {
public:
  /// \p pool: all devices.
  PipelineTrials(const PlanRequest &request, const PointPlanner &points, const Pool &pool)
      : request(request), points(points), pool(pool), trials(request, {points.whole, points.whole}, points.control),
        policies(policiesOf(request)) {}

  /// With `workers`, until \p end seconds are left.
  llvm::Error tryWorkers(int64_t workers, double end);
  const TrainingTrials &all() const { return trials; }
  double secondsLeft() const { return trials.secondsLeft(); }
  /// Seconds in which a point can be planned again, at the least.
  double secondsOfPoint() const { return shareOfPoint * request.timeLimitSeconds; }

private:
  /// The best that was found of the number of workers that is being tried.
  struct Here {
    PlanRank rank;
    PlanRequest point;
    bool isByMemory; ///< more memory might make it faster
  };

  /// The ways that a worker's nodes can share a micro-batch evenly, where each takes a part of every sample inside.
  int64_t evenWays(const PlanRequest &point) const;
  /// Those of \p points, the nearest first, without ones whose next neighbour can be shared more evenly.
  std::vector<PlanRequest> evenlyShared(llvm::ArrayRef<PlanRequest> points) const;
  /// Plans a point; true where that is the best of its number of workers.
  llvm::Expected<bool> tryPoint(const PlanRequest &point, double end);
  /// Each point with every policy, until one fits.
  llvm::Error tryUntilOneFits(llvm::ArrayRef<PlanRequest> points, double end);
  /// With the policy of the best.
  llvm::Error tryAsLongAsBetter(llvm::ArrayRef<PlanRequest> points, double end);
  /// Policies that keep less than that of the best, with its micro-batches.
  llvm::Error tryPolicies(double end);

  static constexpr double shareOfPoint = 0.05;

  const PlanRequest &request;
  const PointPlanner &points;
  const Pool &pool;
  TrainingTrials trials;
  std::vector<RecomputeSetting> policies;
  std::optional<Here> bestHere;
};

} // namespace apc

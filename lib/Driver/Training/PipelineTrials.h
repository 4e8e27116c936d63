// The points of a pipeline that were planned: micro-batches x policies of recomputation.
#pragma once

#include "OwnBatch.h"
#include "TrainingTrials.h"

namespace apc {

/// Tries the points of one number of workers.
class PipelineTrials {
public:
  PipelineTrials(const PlanRequest &request, PlanOfRequest plan, const PlanningControl &control)
      : request(request), trials(request, plan, control), policies(policiesOf(request)) {}

  /// With `workers`, until \p end seconds are left.
  llvm::Error tryWorkers(int64_t workers, double end);
  const TrainingTrials &all() const { return trials; }
  double secondsLeft() const { return trials.secondsLeft(); }

private:
  /// The best that was found of the number of workers that is being tried.
  struct Here {
    PlanRank rank;
    PlanRequest point;
    bool isByMemory; ///< more memory might make it faster
  };

  /// Plans a point; true where that is the best of its number of workers.
  llvm::Expected<bool> tryPoint(const PlanRequest &point, double end);
  /// Each point with every policy, until one fits.
  llvm::Error tryUntilOneFits(llvm::ArrayRef<PlanRequest> points, double end);
  /// With the policy of the best.
  llvm::Error tryAsLongAsBetter(llvm::ArrayRef<PlanRequest> points, double end);
  /// Policies that keep less than that of the best, with its micro-batches.
  llvm::Error tryPolicies(double end);

  const PlanRequest &request;
  TrainingTrials trials;
  std::vector<RecomputeSetting> policies;
  std::optional<Here> bestHere;
};

} // namespace apc

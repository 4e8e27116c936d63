// The points of a pipeline that were planned: micro-batches x policies of recomputation.
#pragma once

#include "OwnBatch.h"
#include "TrainingTrials.h"

namespace apc {

/// Tries the points of one number of workers.
class PipelineTrials {
public:
  PipelineTrials(const PlanRequest &request, PlanOfRequest plan)
      : request(request), trials(request, plan), policies(policiesOf(request)) {}

  /// With `workers`, until \p end seconds are left.
  llvm::Error tryWorkers(int64_t workers, double end);
  const TrainingTrials &all() const { return trials; }
  double secondsLeft() const { return trials.secondsLeft(); }

private:
  llvm::Error tryPolicies(PlanRequest point, double end);
  /// From the first point on, as long as points are better.
  llvm::Error descend(llvm::ArrayRef<PlanRequest> points, double end);

  const PlanRequest &request;
  TrainingTrials trials;
  std::vector<RecomputeSetting> policies;
  std::optional<PlanRank> bestHere;       ///< of the number of workers that is being tried
  std::optional<RecomputeSetting> policy; ///< of `bestHere`
};

} // namespace apc

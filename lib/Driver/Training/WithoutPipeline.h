// The step without a pipeline, beside its pipelines.
#pragma once

#include "PointPlanner.h"

namespace apc {

/// The plan without a pipeline, where there is one, and what was tried for it.
struct Without {
  std::optional<Plan> plan;
  std::vector<TriedPoint> tried;
};

/// Plans \p request without a pipeline, in a third of its time, where it leaves the number of workers open. Errors:
/// those of `chooseTraining` other than that nothing fits.
llvm::Expected<Without> planWithout(const PlanRequest &request, const PointPlanner &points);

} // namespace apc

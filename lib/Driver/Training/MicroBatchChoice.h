// The number of micro-batches and the policy of recomputation that give the best plan.
#pragma once

#include "PointPlanner.h"

namespace apc {

/// Plans the numbers of micro-batches and the policies that \p request leaves open: all of them quickly until more
/// micro-batches cannot be faster, and the fastest that memory slows down to the end. The bound is that of all.
/// Errors: `NothingFits`, and those of the points.
llvm::Expected<Plan> chooseMicroBatches(const PlanRequest &request, const PointPlanner &points);

} // namespace apc

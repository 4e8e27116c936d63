// The point of a pipeline that a layout is.
#pragma once

#include "apc/Plan/ParallelDegrees.h"
#include "apc/Plan/PlanRequest.h"

#include "llvm/ADT/ArrayRef.h"

namespace apc {

/// The one of \p points, of one number of workers, that has the workers and micro-batches of a layout, with the policy
/// of that, or \p usual where it names none; none where there is no such point.
std::optional<PlanRequest> pointOfLayout(const std::optional<ParallelDegrees> &layout,
                                         llvm::ArrayRef<PlanRequest> points, const RecomputeSetting &usual);

} // namespace apc

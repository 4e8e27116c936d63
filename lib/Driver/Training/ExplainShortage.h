// The reason why nothing fits, once for all points of a request.
#pragma once

#include "PointPlanner.h"

namespace apc {

/// `chooseTraining`, whose points are planned briefly. Where nothing fits, the last point is planned again for the
/// reasons, in the time that is left; the plan is a reference that fits, where there is one. Errors: those of both.
llvm::Expected<Plan> chooseOrExplain(const PlanRequest &request, const PointPlanner &points);

} // namespace apc

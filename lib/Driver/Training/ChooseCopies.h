// The choice between micro-batches that run whole and in copies.
#pragma once

#include "PointPlanner.h"

namespace apc {

/// The better of the best plan without copies and of one with two copies of its micro-batches, whose other numbers are
/// the same, with all points that were tried. Errors: those of planning without copies, which takes the least memory;
/// internal ones of both.
llvm::Expected<Plan> chooseCopies(const PlanRequest &request, const PointPlanner &points);

} // namespace apc

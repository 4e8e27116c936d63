// Choices around a pipeline: workers, micro-batches and recomputation.
#pragma once

#include "PointPlanner.h"

namespace apc {

/// Plans a pipeline for the numbers of workers and micro-batches and the policies of recomputation that `request`
/// allows, and returns the best by `PlanRank`, with all points that were tried. For each number of workers it
/// begins near eight micro-batches a worker, with the policy that keeps most of those that fit; from there it goes to
/// more and to fewer micro-batches, as long as that helps, and tries policies that keep less where more memory would
/// make the step faster. Workers are tried from one (no pipeline) on, until two numbers in a row gave nothing better.
/// Plans are made by `points.first`; the best is planned again by `points.whole` for the rest of the time. The bound is
/// that of all numbers that the request allows, also of those that were not tried, unless the time does not suffice for
/// it. Once the control asks to stop, the best until then is returned. Errors: those of planning a point; no plan where
/// none fits.
llvm::Expected<Plan> choosePipeline(const PlanRequest &request, const PointPlanner &points);

} // namespace apc

// Choices around the search of a training step: copies, a pipeline, micro-batches and recomputation.
#pragma once

#include "PointPlanner.h"

namespace apc {

/// Does a request leave the batches of a training step, its workers, its copies or its policy of recomputation to the
/// planner?
bool leavesTrainingOpen(const PlanRequest &request);

/// Plans a step by `chooseCopies` where its copies are open, else by `choosePipeline` where it has several workers or
/// any number of them. Of one worker, plans it for each policy of recomputation that `request` allows and for each
/// number of micro-batches, fewest first, until no larger number can be faster, or two in a row gave nothing better;
/// returns the best by `PlanRank`, with all points that were tried. The bound holds for all numbers of micro-batches,
/// also those that were not tried: without a limit of memory more of them are never faster. Where neither batch is
/// given, the step has the model's own: on several workers as if that were given, on one in one micro-batch; where
/// nothing fits so, its number is chosen as for a batch that is given. Once the control asks to stop, the best of the
/// points until then is returned. Errors: those of planning a point; `NothingFits` where no point gives a plan.
llvm::Expected<Plan> chooseTraining(const PlanRequest &request, const PointPlanner &points);

} // namespace apc

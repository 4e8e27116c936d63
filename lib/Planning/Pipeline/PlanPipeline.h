// The plan of a step as a pipeline of stages.
#pragma once

#include "../Task.h"

#include "apc/Plan/Plan.h"

namespace apc {

/// Plans `whole`, a training step on all devices, for each number of workers, chunks and schedule that its request
/// allows, and returns the fastest that fits. The micro-batches are those of the graph.
///
/// For each number of stages the model is cut into parts of about equal seconds. Each stage is planned on the devices
/// of a worker, with the memory that the micro-batches in flight leave; stages that are alike share one search. Parts
/// of the stages give the schedule its figures, and its simulation the step. The bound: that of all
/// points, with the least that layers take. Errors (input): workers that do not divide the devices, too few
/// places to cut, a schedule that does not take the numbers; NoPlan when nothing fits.
llvm::Expected<Plan> planPipeline(const PlanningTask &whole);

} // namespace apc

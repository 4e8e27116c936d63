// A layout with a pipeline.
#pragma once

#include "../Pipeline/StagedStep.h"

#include "apc/Plan/ParallelDegrees.h"

namespace apc {

/// `request` with the workers, chunks and schedule of a layout.
PlanRequest withPipelineOf(PlanRequest request, const ParallelDegrees &layout);

/// The pipeline of a layout for the step of `whole`, whose request has the layout's workers, chunks and schedule: each
/// worker has the mesh of dp, cp and tp. Stages have equally many layers, as Megatron cuts them; where the layers do
/// not divide into the stages, about equal work. Errors (input): degrees that do not multiply to the devices, workers
/// that are no groups of neighbours, too few places to cut, a schedule that does not take the numbers, and those of
/// `checkLayoutOnModel`.
llvm::Expected<PipelineTrial> costPipelineLayout(const PlanningTask &whole, const ParallelDegrees &layout);

} // namespace apc

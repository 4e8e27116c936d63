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

/// The cuts of a layout: equally many layers in each stage, or else about equal work. Errors: those of `balancedCuts`.
llvm::Expected<std::vector<size_t>> cutsOfLayout(const PlanningTask &whole, const ParallelDegrees &layout,
                                                 const WorkerPools &workers);

/// The stages of \p step, of such cuts, as the layout has them under a schedule. Where a step is known that takes
/// \p knownSeconds, stages that are slower or need far too much are not searched for what fits. Errors: those of the
/// searches.
llvm::Expected<PipelineTrial> costStagesOfLayout(const PlanningTask &whole, const ParallelDegrees &layout,
                                                 const PipelinePoint &point, const StagedStep &step,
                                                 std::optional<double> knownSeconds = std::nullopt);

} // namespace apc

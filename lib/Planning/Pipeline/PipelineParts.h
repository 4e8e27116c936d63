// The worth of each kind of parallelism in the stages of a pipeline.
#pragma once

#include "StagedStep.h"

namespace apc {

/// The pipeline \p answer of \p stages simulated again with programs of its stages that are without a kind of
/// parallelism (apc/Planning/Parts), as `contributionsOf` does for a step without a pipeline: seconds of the step, and
/// bytes of a device of the fullest worker. Kinds of which no stage has anything are left out, and those that cannot be
/// costed.
std::vector<PlanContribution> contributionsOf(const StagedStep &stages, const PipelineAnswer &answer);

} // namespace apc

// A pipeline in a plan's words.
#pragma once

#include "StagedStep.h"

namespace apc {

/// The plan of a pipeline: its stages with reasons, transfers, seconds, memory. Its search, its bound and what else was
/// tried are for the caller to say.
Plan describePipeline(const PlanningTask &whole, const PipelineAnswer &answer);

} // namespace apc

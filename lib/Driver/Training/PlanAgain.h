// The best of quick plans of pipelines, planned with more effort.
#pragma once

#include "PipelineTrials.h"

namespace apc {

/// The best plan of \p trials, which have one, or a better one that the rest of the time finds for its numbers by
/// \p plan; with all points that were tried, and the bound of these numbers. Errors: those of planning.
llvm::Expected<Plan> planAgain(const PipelineTrials &trials, PlanOfRequest plan);

} // namespace apc

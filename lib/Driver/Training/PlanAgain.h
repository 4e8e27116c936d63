// The best of quick plans of pipelines, planned with more effort.
#pragma once

#include "PipelineTrials.h"

namespace apc {

/// The faster one of \p without, the plan of the step without a pipeline, and the best plan of \p trials or of what the
/// rest of the time finds by \p plan: for the numbers of that, and where planning takes next to no time, for the best
/// of other numbers of workers. Quick plans that are much slower than \p without stay as they are. One of both is
/// there. With all points of \p trials, and the bound of the plan's own numbers. Errors: those of planning.
llvm::Expected<Plan> fasterOf(const PipelineTrials &trials, const std::optional<Plan> &without, PlanOfRequest plan);

} // namespace apc

// The step of a pipeline as a longest path: a second and slower way to its time, which shares nothing with the
// simulator but its input.
#pragma once

#include "apc/Schedule/Pipeline/SimulatePipeline.h"

namespace apc {

/// Every action, message, reduction and optimizer is a node with seconds, every reason to wait an arc. One topological
/// pass gives starts and ends. Nothing where the arcs have a circle: workers wait for each other.
std::optional<PipelineTime> timeByLongestPath(const ActionLists &lists, const PipelineWork &work);

} // namespace apc

// The values of the forward pass that a step of training recomputes.
#pragma once

#include "apc/Graph/OpGraph.h"

namespace apc {

/// By value: the value of the forward pass that a recomputed one is made again of; empty for all others.
std::vector<std::optional<ValueId>> originalsOf(const OpGraph &graph);

} // namespace apc

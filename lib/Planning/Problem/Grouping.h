// Users that share a copy of a value.
#pragma once

#include "apc/Graph/OpGraph.h"

#include <vector>

namespace apc {

/// The users that may share a hub: those of every micro-batch, or all where there are none.
std::vector<OpGraph::Use> sharingUses(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users);

} // namespace apc

// Ops that are decided together, and users that share a copy.
#pragma once

#include "apc/Graph/OpGraph.h"

#include <vector>

namespace apc {

/// The ops of each node, in the order of the ops: one alone, or tied ops, which stand where their leader does.
std::vector<std::vector<OpId>> groupTies(const OpGraph &graph);

/// The users that may share a hub: those of every micro-batch, or all where there are none.
std::vector<OpGraph::Use> sharingUses(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users);

} // namespace apc

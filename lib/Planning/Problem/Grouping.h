// Users that share a copy of a value, and the bytes of the copy.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Planning/BuildProblem.h"

#include <vector>

namespace apc {

/// The users that may share a hub: those of every micro-batch, or all where there are none.
std::vector<OpGraph::Use> sharingUses(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users);

/// Does the copy of a weight that both passes read count at a moment? It may be a piece of it that waits, or nothing,
/// so that it is never certain.
bool countsCopies(std::optional<Moment> moment, llvm::ArrayRef<OpGraph::Use> users);

/// The copy of an activation takes the place of the original, of which the producer counts an even piece at least.
/// \p hubTables: by value.
void countOriginalsOnce(const OpGraph &graph, int64_t devices, llvm::ArrayRef<std::optional<NodeTableId>> hubTables,
                        Problem &problem);

} // namespace apc

// Users that share a copy of a value, and the bytes of the copy.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Planning/BuildProblem.h"

#include <vector>

namespace apc {

/// The users that may share a hub: those of every micro-batch, or all where there are none.
std::vector<OpGraph::Use> sharingUses(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users);

/// The copies of a value that both passes read that count at a moment: one of a weight, one in each micro-batch in
/// flight of an activation. It may be a piece of it that waits, or nothing, so that it is never certain.
int64_t countedCopies(const OpGraph &graph, bool isWeight, std::optional<Moment> moment,
                      llvm::ArrayRef<OpGraph::Use> users);

/// The copies of an activation take the place of the originals, of which the producer counts even pieces at least.
/// \p hubTables: by value.
void countOriginalsOnce(const OpGraph &graph, int64_t devices, std::optional<Moment> moment,
                        llvm::ArrayRef<std::optional<NodeTableId>> hubTables, Problem &problem);

} // namespace apc

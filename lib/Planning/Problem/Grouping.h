// Users that share a copy of a value, and the bytes of the copy.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Planning/BuildProblem.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace apc {

/// The users that may share a hub: those of every micro-batch, or all where there are none.
std::vector<OpGraph::Use> sharingUses(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users);

/// Do two users of a value want it alike under each choice, so that each program brings it to both in one way?
using WantAlike = llvm::function_ref<bool(OpGraph::Use, OpGraph::Use)>;

/// The copies of a value that both passes read that count at a moment: one of a weight, one in each micro-batch in
/// flight of an activation. Mostly it may be a piece of a copy that waits, or nothing: then none is certain.
///
/// A copy at the hub is certain where each user but one op has another that wants it alike on the other side of the
/// moment, and none is at it. A program then brings all users directly from the original, which takes the seconds of
/// the hub that is the original and comes for each pass; or users on both sides read the copy; or the one op alone
/// does, which gains nothing from a hub.
int64_t countedCopies(const OpGraph &graph, bool isWeight, std::optional<Moment> moment,
                      llvm::ArrayRef<OpGraph::Use> users, WantAlike wantAlike);

/// The copies of an activation take the place of the originals, of which the producer counts even pieces at least.
/// \p hubTables: by value.
void countOriginalsOnce(const OpGraph &graph, int64_t devices, std::optional<Moment> moment,
                        llvm::ArrayRef<std::optional<NodeTableId>> hubTables, Problem &problem);

} // namespace apc

// Searches of other problems, whose programs may be faster than that of the problem of a task.
#pragma once

#include "Meshes.h"

namespace apc {

/// The search takes every bucket for the fullest. Where the program of its answer takes noticeably more, for its
/// collectives fit no buckets, the answer of a search of its mesh that takes every move for itself may be faster; then
/// \p choice becomes it. States that rest in pieces (ZeRO) may cost more than they seemed to, too: where the search was
/// short and storage is not limited, searches with whole states, and with no more than cut states, follow. Errors:
/// those of the searches.
llvm::Error searchAlone(const PlanningTask &task, MeshChoice &choice);

/// Where collectives run beside ops, searches minimise weighted sums of both and may miss the program that is best
/// where they take turns, though that is fast beside each other, too. Searches for it, and takes it into \p choice
/// where its step is the faster. Nothing where collectives take turns, or where no time is left. Errors: those of
/// searches.
llvm::Error searchInTurn(const PlanningTask &task, MeshChoice &choice);

} // namespace apc

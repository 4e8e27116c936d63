// Plans of steps that take turns, for steps whose collectives run beside ops.
#pragma once

#include "Meshes.h"

namespace apc {

/// Where collectives run beside ops, searches minimise weighted sums of both and may miss the program that is best
/// where they take turns, though that is fast beside each other, too. Searches for it, and takes it into \p choice
/// where its step is the faster. Nothing where collectives take turns, or where no time is left. Errors: those of
/// searches.
llvm::Error searchInTurn(const PlanningTask &task, MeshChoice &choice);

} // namespace apc

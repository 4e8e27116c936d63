// The statements of a plan about its model, held against the model.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Plan/Plan.h"

namespace apc {

/// Derives again from the strategies of \p plan, the shardings of its inputs and parameters and its moves all that a
/// plan says of \p graph, which it was made for: ops and their bytes, factors, rules and alternatives; shape, local
/// shape, element size, role, sharding and users of every value; the users of every move; bytes of collectives, FLOPs,
/// devices in use; and where the plan's cluster can be read its levels, the memory limit and the memory of each
/// category. Seconds are held against their sums (`checkSums`), and rates against them. Errors (a failed check, exit
/// code 1) name the field, its value and what the program has.
llvm::Error checkStatements(const OpGraph &graph, const Plan &plan);

/// The part of that which is about the training step: its settings, batch and micro-batches.
llvm::Error checkTraining(const OpGraph &graph, const Plan &plan);

} // namespace apc

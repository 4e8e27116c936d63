// The recomputation of a training step, chosen among the named policies.
#pragma once

#include "apc/Plan/Plan.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace apc {

/// Plans `request` with each policy by `plan`, which is given a share of the time, and returns the best of the plans
/// (apc/Planning/PlanRank.h) with a note on the others. Its bound is the least of theirs, so it holds for all policies.
/// Errors: those of `plan`; where nothing fits with any policy, that of the one that keeps least.
llvm::Expected<Plan> chooseRecompute(const PlanRequest &request,
                                     llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &)> plan);

} // namespace apc

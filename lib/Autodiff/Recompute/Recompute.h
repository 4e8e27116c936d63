// Copies of forward ops in the backward pass.
#pragma once

#include "RecomputedLayers.h"

#include "apc/IR/Apc.h"
#include "apc/IR/Program/PlanNames.h"

#include "llvm/ADT/DenseSet.h"

namespace apc {

/// Lets gradient ops read copies of the forward values that the policy of `recomputed` does not keep. Each forward op
/// is copied at most once, right before the first gradient op for which it is needed; copies are tied to it. Op "a"
/// with value "v" is copied as "a.recomputed" with "v.recomputed". `names` and the layers are those of `main` before
/// its backward pass; `gradients` is what the backward pass is there for: ops that none of them needs get no copies.
void recomputeForward(mlir::func::FuncOp main, const PlanNames &names, const RecomputedLayers &recomputed,
                      const llvm::DenseSet<mlir::Value> &gradients);

} // namespace apc

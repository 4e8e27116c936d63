// The backward pass: from the loss to the gradients of parameters.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Program/PlanNames.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Error.h"

namespace apc {

struct BackwardOptions {
  mlir::Value seed = {}; ///< the gradient of the loss for itself; null: 1
  /// Gradients of parameters of fewer than 32 bits are cast to f32 right where they are made, before anything is
  /// summed over devices; so are those of their transposes and reshapes.
  bool widens = false;
};

/// For each parameter of `trained` the gradient of `loss`, a value of one element: one or more contributions, to be
/// summed; none where the loss does not depend on it. Ops are created at the end of `main`'s block, before its
/// terminator, and tied to the ops that they are gradients of. `names` are those of `main` before.
///
/// Errors (input): ops without a gradient between a trained parameter and the loss, all of them.
llvm::Expected<llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>>>
buildBackward(mlir::func::FuncOp main, const PlanNames &names, mlir::Value loss,
              const llvm::DenseSet<mlir::Value> &trained, const BackwardOptions &options = {});

/// Values that change with a parameter of `trained`: floats that are made from it, by ops that let gradients through or
/// not.
llvm::DenseSet<mlir::Value> dependentsOf(mlir::func::FuncOp main, const llvm::DenseSet<mlir::Value> &trained);

} // namespace apc

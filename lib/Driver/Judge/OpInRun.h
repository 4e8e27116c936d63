// One op of a module, with the tensors that come to it in a run.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/Interpret/Run.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace apc {

/// Finds a value in `main` of a clone of a module.
using Pick = llvm::function_ref<mlir::Value(mlir::func::FuncOp)>;

struct OpInRun {
  mlir::OwningOpRef<mlir::ModuleOp> clone;
  mlir::OpResult result;     ///< of the op, the one that was asked for
  std::vector<Tensor> known; ///< of the operands that are not absent

  /// The op on `known`, which may have been changed; empty where it has no kernel.
  Evaluated evaluate() const;
};

/// The op that computes `value`: ops behind it that only move its elements are passed. Null for arguments.
mlir::OpResult computedResult(mlir::Value value);

/// The op that computes the value that `pick` finds, from a run of `module` on `inputs`. Empty where there is none, and
/// where the run ends before.
std::optional<OpInRun> opInRun(mlir::ModuleOp module, Pick pick, llvm::ArrayRef<Tensor> inputs,
                               const ParameterSource &parameters);

} // namespace apc

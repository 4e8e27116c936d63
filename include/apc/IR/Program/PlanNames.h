// The names that plans give to the ops and values of a module, and the rules that ops are planned with: the same for
// making a plan and for carrying it out.
#pragma once

#include "apc/IR/Operator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace apc {

/// Names of `main`, unique for ops (`a`, `a#2`) and for values, which are called as in the model; a value that has no
/// name there is called after its op.
struct PlanNames {
  llvm::DenseMap<mlir::Operation *, std::string> ops;   ///< without constants and absent values
  llvm::DenseMap<mlir::Value, std::string> sources;     ///< arguments, parameters and values received, seen as ops
  llvm::DenseMap<mlir::Operation *, std::string> sends; ///< seen as ops: "send h"
  llvm::DenseMap<mlir::Value, std::string> values;      ///< tensors that are not constant
  std::vector<std::string> outputs;                     ///< the results of `main`, seen as ops: "output logits"
  std::vector<std::string> outputValues;                ///< the names of the results: "logits"
};

PlanNames namePlan(mlir::func::FuncOp main);

/// True for results of `apc.constant` and `apc.none`, which plans do not name: every device holds them whole.
bool isPlanConstant(mlir::Value value);

/// The rule an op is planned with: its factor rule without the linear groups that a constant is in. A constant is whole
/// on every device and never partial: partial x + constant would add the constant once for each device. Factors that
/// the op's attribute `apc.parts` names are cut inside parts.
mlir::FailureOr<FactorRule> plannedRule(mlir::Operation *op);

/// The rule of result `index` of `main` seen as an op: one operand, each of whose dims d0, d1, ... may be cut, inside
/// parts that the attribute `apc.parts` of the result names.
FactorRule outputRule(mlir::func::FuncOp main, unsigned index);

/// The same for a value that `send` hands to other stages.
FactorRule sendRule(mlir::Operation *send);

} // namespace apc

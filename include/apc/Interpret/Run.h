// A module run on one device: the reference that programs of many ranks are held against.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/Support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace apc {

/// Gives the whole tensor of a parameter, by its name, when a run reaches it: no more of them are held than are in use.
using ParameterSource = std::function<llvm::Expected<Tensor>(ParameterOp)>;

/// No kernel computes an op, or none does on these operands (a division of integers by zero). The message names the
/// inputs of integers that the op depends on.
class MissingKernel : public llvm::ErrorInfo<MissingKernel, PlannerError> {
public:
  static char ID;

  explicit MissingKernel(mlir::Operation *op);
  /// "NonZero": the ONNX name, or the op's own.
  const std::string &getOperator() const { return operatorName; }

private:
  std::string operatorName;
};

/// Runs `main` of `module` on `inputs`, its arguments in order, op by op by `OperatorInterface::evaluate`, and gives
/// its results. Every result of an op is rounded to its element type; values are freed after their last use; calls of
/// functions are followed.
///
/// Where `main` has micro-batches (`micro_batch_end`), inputs are those of the first, then those of the second, and so
/// on; what is above the end runs once with each, sums over micro-batches go on.
///
///   main(%x: tensor<2xf32>) { %0 = "apc.relu"(%x) return %0 }   on {-1, 2} gives {0, 2}
///
/// Errors (input, naming op and location): `MissingKernel`; inputs of other types; a parameter that cannot be had; a
/// collective, for which there is `runGrid`. Internal: a kernel gives another type than its op says.
llvm::Expected<std::vector<Tensor>> run(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs,
                                        const ParameterSource &parameters);

} // namespace apc

// Sums over a module: operators, parameters, floating-point operations.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace apc {

/// Sums over the ops of a module. gpt3_175b_loss: parameters 174.6e9, parameterBytes 349.2e9 in f16,
/// contractionFlops 2.94e15.
struct ModuleStatistics {
  int64_t nodes = 0;                        ///< operators; constants, parameters and absent values are not counted
  int64_t parameters = 0;                   ///< elements of all parameters but those with the role "constant"
  int64_t parameterBytes = 0;               ///< of the same, rounded up to whole bytes for each tensor
  int64_t constantBytes = 0;                ///< of parameters with the role "constant"
  double forwardFlops = 0;                  ///< of all operators
  double contractionFlops = 0;              ///< of those whose rule is a contraction (MatMul, Conv, ...)
  std::map<std::string, int64_t> operators; ///< op name without the dialect, "matmul" -> 193
};

/// Walks all ops with the operator interface. Ops whose rule cannot be bound, which verification refuses, count no
/// FLOPs.
ModuleStatistics statistics(mlir::ModuleOp module);

} // namespace apc

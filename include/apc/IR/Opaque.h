// Operators that nobody knows: what they are called, and where they are.
#pragma once

#include "mlir/IR/Operation.h"

#include <string>
#include <vector>

namespace apc {

/// "com.acme.Mix": the ONNX name of an operator that nobody knows; "" of all other ops.
llvm::StringRef opaqueName(mlir::Operation *op);

/// The name by which people know the operator of `op`: "mat_mul", "com.acme.Mix".
llvm::StringRef operatorNameOf(mlir::Operation *op);

/// "com.acme.Mix (2 nodes, the first is 'mix')" for each operator inside `root` that nobody knows, by name.
std::vector<std::string> listOpaque(mlir::Operation *root);

} // namespace apc

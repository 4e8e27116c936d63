// The weights that a layer's function takes together.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <optional>
#include <string>

namespace apc {

/// Arguments that are, in each call, the parameters of one layer: "h.0.c_fc.weight" in the first, "h.1.c_fc.weight" in
/// the second. The function then has `weights["c_fc.weight"]`, its calls `weights.within("h.0.")`.
struct LayerWeights {
  std::map<unsigned, std::string> names; ///< by argument: "c_fc.weight"

  /// The text that the names of a call's parameters begin with.
  std::string scopeOf(mlir::func::CallOp call) const;
};

/// None where calls do not agree, where that is less than two weights, or where the function overwrites arguments.
std::optional<LayerWeights> layerWeights(mlir::func::FuncOp function, llvm::ArrayRef<mlir::func::CallOp> calls);

} // namespace apc

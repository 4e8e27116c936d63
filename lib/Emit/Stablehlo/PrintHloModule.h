// The text of a module of StableHLO.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace apc {

/// The module in text. Tables that several ops have (groups of ranks, numbers by rank) stand once, as `#tableN` above
/// the module; the ops of the module name them from then on.
std::string printHloModule(mlir::ModuleOp module);

} // namespace apc

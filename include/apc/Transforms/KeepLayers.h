// A smaller model of the same structure: fewer of the layers that repeat.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Keeps the first `count` layers of every run of more (apc/IR/Program/Repetition.h), in place, and returns the number
/// of removed layers. Ops behind the last layer then read the last layer kept. Parameters, inputs and results of `main`
/// that belong to removed layers alone are removed, too. Op names stay.
///
///   96 layers, count 2: 2 layers; the input `past_5` and the output `present_5` are gone.
///
/// Errors (input): no layers repeat; count < 1; an op outside the layers reads a value of a layer in the middle, so
/// that layers cannot be removed (the error names the op).
llvm::Expected<unsigned> keepLayers(mlir::ModuleOp module, int64_t count);

} // namespace apc

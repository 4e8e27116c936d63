// Layers that repeat become one function that is called many times.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace apc {

/// Replaces runs of equal consecutive segments of `main` by calls of one private function `layer<n>`: 96 layers of 40
/// ops are one function of 40 ops and 96 calls. Segments are equal when their ops have the same attributes (but for
/// `apc.op`) and types, and the same references to one another; values read from outside become arguments, but for
/// constants, which the function has itself. An op of the function keeps the `apc.op` of the first segment.
///
/// Runs are those of `findRepeatedRuns` (apc/IR/Program/Repetition.h), numbered in their order. Those whose segments
/// read and hand on twice as many values as they have ops or more, such as updates of parameters, stay as they are.
void outlineLayers(mlir::ModuleOp program);

} // namespace apc

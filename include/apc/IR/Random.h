// Operators that draw numbers.
#pragma once

#include "mlir/IR/Operation.h"

namespace apc {

/// True for an op that draws numbers, or may draw them: a Dropout whose training mode is on or not known.
/// Runs of the reference interpreter draw the same numbers for one op, in each micro-batch and on any sharding; other
/// runtimes draw others.
bool isRandom(mlir::Operation *op);

} // namespace apc

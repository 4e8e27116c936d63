// Operators that draw numbers.
#pragma once

#include "mlir/IR/Operation.h"

namespace apc {

/// True for an op that draws numbers, or may draw them: a RandomNormal, say, or a Dropout whose training
/// mode is on or not known.
/// Runs of the reference interpreter draw the same numbers for one op on any sharding; other runtimes draw others.
bool isRandom(mlir::Operation *op);

/// Lets an op for which `isRandom` is true draw other numbers for each value of \p number, an integer without dims.
void numberDraws(mlir::Operation *op, mlir::Value number);

/// Writes the seeds that follow from names into the random ops inside \p root: a program that leaves names behind draws
/// the same numbers.
void keepSeeds(mlir::Operation *root);

} // namespace apc

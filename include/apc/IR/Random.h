// Operators whose results no two runs share.
#pragma once

#include "mlir/IR/Operation.h"

namespace apc {

/// True for an op that draws numbers, or may draw them: a Dropout whose training mode is on or not known.
bool isRandom(mlir::Operation *op);

} // namespace apc

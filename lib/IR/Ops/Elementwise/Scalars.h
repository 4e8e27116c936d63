// Operands that must have one element.
#pragma once

#include "apc/IR/Operator.h"

namespace apc {

/// An error at the op unless its first \p count operands but the first of all have one element each, where they are
/// there: the bounds of Clip, the ratio and the mode of Dropout.
mlir::LogicalResult requireScalars(mlir::Operation *op, unsigned count = 3);

} // namespace apc

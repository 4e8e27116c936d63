// An op of a program held against the form on pieces that its operator declares.
#pragma once

#include "apc/IR/Operator.h"
#include "apc/Sharding/Strategy.h"

#include "llvm/ADT/SmallBitVector.h"

namespace apc {

/// An error unless `op` is what `original` becomes on pieces under `strategy` (OperatorInterface::localize): the same
/// operator, attributes, result types and constants made for the piece. Returns the operands that are such constants,
/// or offsets: all others are values of the model.
llvm::Expected<llvm::SmallBitVector> checkLocalForm(mlir::Operation *op, mlir::Operation *original,
                                                    const FactorRule &rule, const Strategy &strategy, const Mesh &mesh);

} // namespace apc

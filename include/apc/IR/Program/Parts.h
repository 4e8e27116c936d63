// The attribute `apc.parts`: factors of ops that are cut inside parts (apc/Sharding/Sharding.h).
#pragma once

#include "apc/IR/Operator.h"

namespace apc {

/// Adds `name` to the attribute `apc.parts` of `op`: a factor with the sizes of its parts, or a name that the op's rule
/// reads itself, with what it reads (`partedDataName`, `partedResultName`).
void markParts(mlir::Operation *op, llvm::StringRef name, llvm::ArrayRef<int64_t> numbers);

/// Cuts the factors of `rule` inside the parts that a dictionary of factors names; null is none.
void cutInsideParts(mlir::DictionaryAttr parts, FactorRule &rule);
/// The same for the attribute `apc.parts` of `op`. `plannedRule` has done so.
void cutInsideParts(mlir::Operation *op, FactorRule &rule);

/// True when a factor of the op's rule may be cut inside parts: it is a dim of its own wherever it is, not whole, and
/// the op's form on pieces needs no places along it. Columns of MatMul and dims of Add may, rows of a table that Gather
/// looks up by their numbers may not, nor may `h` of `(h d)`.
bool mayCutInsideParts(mlir::Operation *op, const FactorRule &rule, FactorId factor);

} // namespace apc

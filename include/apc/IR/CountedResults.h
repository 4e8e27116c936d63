// Operators whose number of results depends on values.
#pragma once

#include "mlir/IR/Builders.h"

#include <cstdint>
#include <optional>

namespace apc {

/// The dim of result 0 that values decide. NonMaxSuppression over 2 samples of 5 classes, at most 100 boxes each: dim
/// 0, at most 1,000.
struct CountedResults {
  unsigned dim = 0;
  std::optional<int64_t> most; ///< by shapes and constants; none: there is no such number
};

/// None for ops whose shapes follow from shapes, attributes and constants alone.
std::optional<CountedResults> countedResults(mlir::Operation *op);

/// Gives `op`, one of the above, exactly `count` results: those behind are cut off, and missing ones are zeros. TopK
/// takes so many in place of its K. Types are to be inferred anew.
void setResultCount(mlir::Operation *op, int64_t count, mlir::OpBuilder &builder);
/// Takes the number away from an op for which it was set.
void clearResultCount(mlir::Operation *op);

} // namespace apc

// The operands of attention with as many key heads as query heads, and their packing.
#pragma once

#include "apc/IR/Operator.h"

namespace apc {

/// The indices of the operands, which differ by operator.
struct MultiHeadOperands {
  unsigned query = 0, key = 1, value = 2, bias = 3, paddingMask = 4, attentionBias = 5, pastKey = 6, pastValue = 7,
           pastLength = 8, indirection = 9;
};
MultiHeadOperands multiHeadOperands(mlir::Operation *op);

/// The forms of queries, keys and values.
enum class Packing {
  None,            ///< [b, s, heads d], [b, t, heads d], [b, t, heads e]
  Interleaved,     ///< [b, s, heads, 3, d]
  InterleavedKeys, ///< [b, s, heads d], [b, t, heads, 2, d]
  Blocks,          ///< [b, s, queries | keys | values]
  Transposed       ///< [b, s, heads d], [b, heads, t, d], [b, heads, t, e]
};
Packing packingOf(mlir::Operation *op);

} // namespace apc

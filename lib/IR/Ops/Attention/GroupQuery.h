// The operands of attention with fewer key heads than query heads.
#pragma once

#include "mlir/IR/Operation.h"

#include <optional>

namespace apc {

/// Operands of `apc.group_query_attention`.
struct GroupQuery {
  enum : unsigned {
    Query,
    Key,
    Value,
    PastKey,
    PastValue,
    Lengths,
    TotalLength,
    CosCache,
    SinCache,
    PositionIds,
    AttentionBias,
    HeadSink,
    KeyScale,
    ValueScale,
    QueryNorm,
    KeyNorm
  };
};

/// The positions that are attended, where the operand that says so is one possible number; none elsewhere.
std::optional<int64_t> knownTotal(mlir::Value total);

} // namespace apc

// ONNX's own attention as softmax attention.
#pragma once

#include "Kernels.h"
#include "apc/IR/Ops/Attention/Attention.h"

#include <optional>

namespace apc {

/// Operands of `apc.attention`.
struct Standard {
  enum : unsigned { Queries, Keys, Values, Mask, PastKey, PastValue, KeyLengths };
};

/// The stage of the scores that the last result has, by `qk_matmul_output_mode`; none for modes that there are not.
std::optional<ScoreStage> returnedStage(mlir::Operation *attention);

/// Do the queries see all keys but for a mask over all of them, without caches, lengths of keys and bounded scores, and
/// is the first result alone read?
bool isOfWholeRows(AttentionOp attention);

/// Replaces attention for which `isOfWholeRows` holds by softmax attention, which it returns; heads and sizes in one
/// dim are taken apart before it and joined behind.
///
///   attention(q, k, v, mask) of [b, heads, s, d]  ->  softmax_attention(q, k, v, mask)
SoftmaxAttentionOp asSoftmaxAttention(mlir::OpBuilder &builder, AttentionOp attention);

} // namespace apc

// The operands of attention that begins with the projection of its input.
#pragma once

#include "apc/IR/Ops/Attention/Attention.h"

namespace apc {

/// Operands of `apc.projected_attention`.
struct Projected {
  enum : unsigned { Input, Weights, Bias, MaskIndex, Past, AttentionBias, PastLength };
};

/// Hidden sizes of queries, keys and values: equal thirds of the weights' columns unless given.
mlir::FailureOr<llvm::SmallVector<int64_t, 3>> projectedSizes(ProjectedAttentionOp op);

} // namespace apc

// The Attention family of operators, for the files that say in C++ what its definitions do not.
#pragma once

#include "apc/IR/Apc.h"

namespace apc {

// One pair for each operator. The rules cut batch, key heads and the queries of a group of heads, and query positions
// where no mask counts them; keys and head sizes are whole. FLOPs: 2 * batch * heads * queries * keys * (head size +
// value size).

mlir::LogicalResult inferGroupQueryAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleGroupQueryAttention(mlir::Operation *op);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Attention.h.inc"

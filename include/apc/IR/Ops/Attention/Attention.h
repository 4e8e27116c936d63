// The Attention family of operators, for the files that say in C++ what its definitions do not.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"

namespace apc {

// One pair for each kind of operator. Rules of attention cut batch, key heads and the query heads of each key head (32
// query heads over 8 key heads are the dim `(kv=8 g=4 d)`), and query positions where no mask counts them; key
// positions and head sizes are whole. FLOPs: 2 * batch * heads * queries * keys * (head size + value size), masks or
// not.

/// Attention and FlexAttention.
mlir::LogicalResult inferAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleAttention(mlir::Operation *op);

mlir::LogicalResult inferGroupQueryAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleGroupQueryAttention(mlir::Operation *op);

/// MultiHeadAttention and DecoderMaskedMultiHeadAttention.
mlir::LogicalResult inferMultiHeadAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleMultiHeadAttention(mlir::Operation *op);

/// The FLOPs of the projection come on top.
mlir::LogicalResult inferProjectedAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleProjectedAttention(mlir::Operation *op);

/// `b h s !d, !m !r, !m !r, b s -> b h s !d`, or with heads and sizes in one dim `(h d)`; 4 FLOPs for each element.
mlir::LogicalResult inferRotaryEmbedding(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleRotaryEmbedding(mlir::Operation *op);

/// `b !t (kv g !d), b !t (kv !d), b !t (kv !e), b kv !d !e -> b !t (kv g !e), b kv !d !e`.
mlir::LogicalResult inferLinearAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleLinearAttention(mlir::Operation *op);

/// `b c !s, c _ !k, c, b c !p -> b c !s, b c !p`.
mlir::LogicalResult inferCausalConvWithState(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleCausalConvWithState(mlir::Operation *op);

/// `b s !d, (b s) !r, e f !d, e f, e n f, e n -> b s n`: experts e and their inner size f are summed over. FLOPs of the
/// k experts that a token visits.
mlir::LogicalResult inferExperts(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleExperts(mlir::Operation *op);
/// The same with packed weights, which are cut by experts only.
mlir::LogicalResult inferQuantizedExperts(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleQuantizedExperts(mlir::Operation *op);

// Operands in their declared order. On pieces of operands that are packed or projected to all heads, the last operand
// is the first head of the piece, and attributes say how many heads the whole has.
Evaluated evaluateAttention(mlir::Operation *op, Operands operands);
Evaluated evaluateGroupQueryAttention(mlir::Operation *op, Operands operands);
Evaluated evaluateMultiHeadAttention(mlir::Operation *op, Operands operands);
Evaluated evaluateProjectedAttention(mlir::Operation *op, Operands operands);
Evaluated evaluateRotaryEmbedding(mlir::Operation *op, Operands operands);
Evaluated evaluateLinearAttention(mlir::Operation *op, Operands operands);
Evaluated evaluateCausalConvWithState(mlir::Operation *op, Operands operands);
Evaluated evaluateExperts(mlir::Operation *op, Operands operands);
Evaluated evaluateQuantizedExperts(mlir::Operation *op, Operands operands);

// Numbers of heads become those of the piece; where an operand has all heads, the op becomes its shard.
void localizeAttention(LocalOp &local);
void localizeGroupQueryAttention(LocalOp &local);
void localizeMultiHeadAttention(LocalOp &local, llvm::StringRef shard);
void localizeProjectedAttention(LocalOp &local);
void localizeRotaryEmbedding(LocalOp &local);
void localizeLinearAttention(LocalOp &local);
/// Where experts are cut, or inner elements are and there is a second bias, the op becomes `shard`.
void localizeExperts(LocalOp &local, llvm::StringRef shard);
/// `... (kv g) s !d, ... kv !t !d, ... kv !t !e, mask -> ... (kv g) s !e`: dims in front, key heads, the query heads of
/// each key head and query positions may be cut. Masks broadcast to the scores [..., heads, s, t] as NumPy does.
/// FLOPs: 2 * heads * s * t * (d + e) for each point of the dims in front, masks or not.
mlir::LogicalResult inferSoftmaxAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleSoftmaxAttention(mlir::Operation *op);
Evaluated evaluateSoftmaxAttention(mlir::Operation *op, Operands operands);
/// [1, 2, 3, 4] with cosines c and sines s: [c - 3 s, 2 c - 4 s, 3 c + s, 4 c + 2 s].
Evaluated evaluateRotateHalf(mlir::Operation *op, Operands operands);
/// a * sigmoid(alpha * a) * b.
Evaluated evaluateSwiGLU(mlir::Operation *op, Operands operands, double alpha);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Attention/Attention.h.inc"

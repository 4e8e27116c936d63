// The Attention family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"

namespace apc {

// Functions of operators that come in two forms; `evaluate` takes the operands in their declared order. Rules of
// attention cut batch, key heads and the query heads of each key head (32 query heads over 8 key heads are the dim
// `(kv=8 g=4 d)`), and query positions where no mask counts them; key positions and head sizes are whole. FLOPs: 2 *
// batch * heads * queries * keys * (head size + value size), masks or not. On pieces numbers of heads become those of
// the piece.

/// Attention and FlexAttention.
mlir::LogicalResult inferAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleAttention(mlir::Operation *op);
Evaluated evaluateAttention(mlir::Operation *op, Operands operands);
void localizeAttention(LocalOp &local);

/// MultiHeadAttention and DecoderMaskedMultiHeadAttention.
mlir::LogicalResult inferMultiHeadAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleMultiHeadAttention(mlir::Operation *op);
Evaluated evaluateMultiHeadAttention(mlir::Operation *op, Operands operands);
void localizeMultiHeadAttention(LocalOp &local);
/// Of attention without caches whose queries, keys and values come apart; false for other forms.
bool differentiateMultiHead(GradientBuilder &g);

/// `b h s !d, !m !r, !m !r, b s -> b h s !d`, or with heads and sizes in one dim `(h d)`; 4 FLOPs for each element.
mlir::LogicalResult inferRotaryEmbedding(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleRotaryEmbedding(mlir::Operation *op);
Evaluated evaluateRotaryEmbedding(mlir::Operation *op, Operands operands);
void localizeRotaryEmbedding(LocalOp &local);
/// The same rotation of what arrives, by the opposite angles.
void differentiateRotation(GradientBuilder &g, unsigned sines);

/// Gradients of SoftmaxAttention for operand `which` (queries, keys, values, mask); operand 4 is what arrives. The rule
/// is that of the attention: keys and values lack the query positions and the query heads of a key head, a mask lacks
/// dims along which it broadcasts, so that their gradients are sums over them. FLOPs of the first three: 5 products for
/// the 2 of the attention; of a mask: 2 for each score.
mlir::LogicalResult inferAttentionGradient(mlir::Operation *op, unsigned which,
                                           llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleAttentionGradient(mlir::Operation *op, unsigned which);
Evaluated evaluateAttentionGradient(mlir::Operation *op, Operands operands, unsigned which);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Attention/Attention.h.inc"

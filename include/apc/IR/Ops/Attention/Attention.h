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
/// The gradients of ONNX's own attention, of the cache too. False, with the reason, for masks of other types than the
/// scores or bools, and where the scores that are returned count.
bool differentiateAttention(GradientBuilder &g);
/// The same of attention whose queries, keys and values come apart, whose masks of padding are lengths or have all
/// queries and keys, and whose caches end with the past.
bool differentiateMultiHead(GradientBuilder &g);

/// `b h s !d, !m !r, !m !r, b s -> b h s !d`, or with heads and sizes in one dim `(h d)`; 4 FLOPs for each element.
mlir::LogicalResult inferRotaryEmbedding(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleRotaryEmbedding(mlir::Operation *op);
Evaluated evaluateRotaryEmbedding(mlir::Operation *op, Operands operands);
void localizeRotaryEmbedding(LocalOp &local);
/// The same rotation of what arrives, by the opposite angles.
void differentiateRotation(GradientBuilder &g, unsigned sines);

/// Softmax attention, the logarithmic sum of its scores, attention by way of that, and gradients for operand
/// `gradientOf` (queries, keys, values, mask) of either. The rule is
///
///     ... (kv g) s !d, ... kv !t !d, ... kv !t !e, mask -> ... (kv g) s !e
///
/// Dims in front, key heads, the query heads of each key head and query positions may be cut; key positions `t`, too,
/// where the logarithmic sums are given or made: results are then sums over pieces of the keys. Masks broadcast to the
/// scores [..., heads, s, t] as NumPy does. Keys and values lack the query positions and the query heads of a key head,
/// a mask lacks dims along which it broadcasts, so that their gradients are sums over them.
///
/// FLOPs: 2 * heads * s * t * (d + e) for each point of the dims in front, masks or not, d alone for the logarithmic
/// sums; the gradients for queries, keys and values 5 products for these 2, that for a mask 2 for each score.
mlir::FailureOr<FactorRule> softmaxAttentionRule(mlir::Operation *op, std::optional<unsigned> gradientOf);
mlir::LogicalResult inferSoftmaxAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
Evaluated evaluateSoftmaxAttention(mlir::Operation *op, Operands operands);
mlir::LogicalResult inferAttentionGradient(mlir::Operation *op, unsigned which,
                                           llvm::SmallVectorImpl<mlir::Type> &types);
Evaluated evaluateAttentionGradient(mlir::Operation *op, Operands operands, unsigned which);
/// Says which keys of an uneven cut are padding.
void localizeKeys(LocalOp &local);

/// Is the op softmax attention, or ONNX's own attention of queries that see all keys but for a mask over all of them,
/// without caches, lengths of keys and bounded scores, whose first result alone is read?
bool maySplitKeys(mlir::Operation *op);
/// Replaces an attention for which `maySplitKeys` holds by ops that devices can share along key positions, the first in
/// the same pass, and returns the second. Where heads and sizes are one dim, they are taken apart before these and
/// joined behind:
///
///   softmax_attention(q, k, v, mask)  ->  l = softmax_attention_log_sum(q, k, mask);
///                                         softmax_attention_by(q, k, v, mask, l)
mlir::Operation *splitKeys(mlir::OpBuilder &builder, mlir::Operation *attention);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Attention/Attention.h.inc"

// The sizes of an attention and the factors that its tensors are made of, shared by all operators that attend.
#pragma once

#include "../Attributes.h"

namespace apc {

/// The sizes of one attention: 32 query heads over 8 key heads are kvHeads 8, group 4.
struct AttentionSizes {
  int64_t batch = 1, kvHeads = 1, group = 1;
  int64_t queries = 1;  ///< query positions of this call
  int64_t keys = 1;     ///< key positions of this call
  int64_t past = 0;     ///< positions of the cache that comes in
  int64_t present = 1;  ///< positions of the cache that goes out
  int64_t attended = 1; ///< key positions that each query looks at
  int64_t headSize = 1, valueSize = 1;

  int64_t heads() const { return kvHeads * group; }
  /// Two products of matrices for each head.
  double flops() const {
    return 2.0 * double(batch) * double(heads()) * double(queries) * double(attended) * double(headSize + valueSize);
  }
};

/// True for masks with a row of their own for each of several queries, [..., queries, keys]; false for those that all
/// queries share, [batch, 1, 1, keys].
bool hasRowPerQuery(llvm::ArrayRef<int64_t> mask, int64_t queries);

/// The factors of an attention. A cache without positions has no factor for them: a factor of size 0 would leave the
/// loop nest without points, and without FLOPs. Sizes of 1 beside another factor of the same dim get none, so that 8
/// heads without groups are `kv`, not `(kv g)`.
class AttentionFactors {
public:
  AttentionFactors(FactorRuleBuilder &builder, const AttentionSizes &sizes, bool queriesWhole, bool batchWhole = false);

  DimFactors batch, kvHeads, heads, queries, keys, past, present, attended, headSize, valueSize;

  /// Heads with their sizes in one dim: `(kv g d)`, `(kv d)`.
  DimFactors flat(const DimFactors &heads, const DimFactors &size) const;
  /// Queries, keys and values of `width` elements in one dim: the heads, and `name` for what each has in all parts.
  DimFactors packed(llvm::StringRef name, int64_t width);
  /// A tensor that broadcasts to [batch, heads, queries, attended] as NumPy does. A last dim that is shorter (the rest
  /// counts as masked) is whole.
  void addMask(mlir::Value value);
  /// A cache [batch, key heads, past, size].
  void addPast(mlir::Value value, const DimFactors &size);
  /// A vector with one value for each of batch or heads (`dim`), or any other tensor, which is whole.
  void addVector(mlir::Value value, const DimFactors &dim);

  /// Remembers for `fused` a mask of these dims, queries and keys last.
  void noteMask(llvm::ArrayRef<int64_t> dims) { masked = masked || hasRowPerQuery(dims, sizes.queries); }
  /// The traits that the cost of the attention depends on.
  FusedAttention fused(bool causal) const;

private:
  FactorRuleBuilder &builder;
  AttentionSizes sizes;
  bool masked = false;
};

/// Cuts a packed dim (`AttentionFactors::packed`) of an operand inside its parts, each of which has all heads.
void cutInsideParts(FactorRule &rule, unsigned operand, unsigned dim, llvm::ArrayRef<int64_t> sizes);

/// An error at `op` unless a mask broadcasts to [batch, heads, queries, attended].
mlir::LogicalResult checkMask(mlir::Operation *op, unsigned operand, const AttentionSizes &sizes);
/// An error at `op` unless a mask of com.microsoft's has one of these shapes, where keys are those of this call at
/// least and all that are attended at most: [batch], [2 batch], [3 batch + 2], [batch, keys], [batch, queries, keys] or
/// [batch, 1, positions, positions]. One batch element stands for all in those of more than one dim.
mlir::LogicalResult checkPaddingMask(mlir::Operation *op, unsigned operand, const AttentionSizes &sizes);

} // namespace apc

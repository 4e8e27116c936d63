// The sizes of softmax attention and one row of its scores, shared by the op, its gradients and its forms with the
// logarithmic sum of the scores given.
#pragma once

#include "../../HeldSpan.h"
#include "../Factors.h"

#include "apc/IR/Kernels/Evaluate.h"

#include <optional>

namespace apc {

/// Where the operands behind queries and keys stand in one of these ops.
struct AttentionOperands {
  enum : unsigned { Queries, Keys };
  std::optional<unsigned> values = {};
  unsigned mask = 0;
  std::optional<unsigned> arriving = {}; ///< of a gradient: what arrives
  std::optional<unsigned> result = {};   ///< what the attention gave
  std::optional<unsigned> logSum = {};   ///< of the scores of each query; keys may be cut
  unsigned numOperands = 0;              ///< offsets stand behind them
};
AttentionOperands attentionOperands(mlir::Operation *op);

/// Sizes of the last three dims, dims in front of them, and the scores [..., heads, s, t] that masks broadcast to. The
/// batch is the product of the dims in front.
struct ScoreSizes : AttentionSizes {
  llvm::SmallVector<int64_t, 2> front;

  llvm::SmallVector<int64_t, 4> scores() const {
    llvm::SmallVector<int64_t, 4> dims(front.begin(), front.end());
    dims.append({heads(), queries, attended});
    return dims;
  }
};
mlir::FailureOr<ScoreSizes> readScoreSizes(mlir::Operation *op);

/// One row of scores at a time: products, mask, softmax, values.
class RowAttention {
public:
  /// The operands are known.
  RowAttention(mlir::Operation *op, Operands operands, const ScoreSizes &sizes);

  int64_t numRows() const { return sizes.batch * sizes.heads() * sizes.queries; }
  /// Query `row` of [..., heads, s] into `result`, the elements of one row of values.
  void compute(int64_t row, double *result);
  /// The logarithm of the sum of the exponentials of the scores of query `row`.
  double logSumOf(int64_t row);
  /// Adds the part of query `row` to the gradient of operand `which`, 3 being the mask.
  void addGradient(int64_t row, unsigned which, Tensor &gradient);

private:
  int64_t keyHeadOf(int64_t row) const { return row / sizes.queries / sizes.group; }
  int64_t keyAt(int64_t keyHead, int64_t t, int64_t d) const {
    return keyHead * sizes.keys * sizes.headSize + (areTransposed ? d * sizes.keys + t : t * sizes.headSize + d);
  }
  double product(int64_t row, int64_t keyHead, int64_t t) const;
  /// The scaled product, bounded by the cap where there is one.
  double capped(int64_t row, int64_t keyHead, int64_t t) const;
  /// The derivative of that for the scaled product.
  double capSlope(int64_t row, int64_t keyHead, int64_t t) const;
  /// The scores of query `row`, in `weights`; those of padding are minus infinity.
  void score(int64_t row);
  /// The weights of query `row`.
  void weigh(int64_t row);
  /// The gradients of the scores before the mask, 0 where it has put others.
  std::vector<double> slopes(int64_t row) const;
  bool isFilled(int64_t position) const;
  double masked(int64_t position, double score) const;
  double greatestScore() const;
  void takeSoftmax();

  const AttentionOperands places;
  const Tensor &q, &k;
  const Tensor *v = nullptr, *mask, *arriving = nullptr, *result = nullptr, *logSum = nullptr;
  const ScoreSizes &sizes;
  llvm::SmallVector<int64_t, 4> scores;
  double scale, softcap;
  std::optional<double> fill;
  int64_t seen, held; ///< keys of the piece that are not padding
  bool areTransposed, nanIsZero;
  std::vector<double> weights;
};

} // namespace apc

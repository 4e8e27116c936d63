// Kernels of all attention: softmax of scaled products of queries and keys, times values, head by head.
#pragma once

#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Localize.h"

#include <limits>

namespace apc {

/// The bias of a key that a query does not see.
constexpr double masked = -std::numeric_limits<double>::infinity();

/// Queries [batch, heads, positions, size], keys [batch, key heads, keys, size], values [batch, key heads, keys, value
/// size]; `heads` is a multiple of the number of key heads.
struct HeadTensors {
  Tensor queries, keys, values;
};

/// One element of the scores.
struct ScoreIndex {
  int64_t batch = 0, head = 0, query = 0, key = 0;
};

/// Intermediate scores that may be returned.
enum class ScoreStage { Scaled, Capped, Biased, Softmax };

/// scores = softcap * tanh(scale * q k / softcap) + bias, softmax over keys with a `sink` beside them that has no
/// value. A query that sees no key gives 0.
struct Scoring {
  double scale = 1;
  double softcap = 0; ///< 0: none
  llvm::function_ref<double(const ScoreIndex &)> bias;
  llvm::function_ref<std::optional<double>(int64_t head)> sink = {};
  ScoreStage returned = ScoreStage::Scaled;
};

/// Results [batch, heads, positions, value size] and scores [batch, heads, positions, keys] at the stage asked for.
struct Attended {
  Tensor results, scores;
};
Attended attend(const HeadTensors &tensors, const Scoring &scoring);

/// [batch, positions, heads * size] as [batch, heads, positions, size], and back.
Tensor splitHeads(const Tensor &flat, int64_t heads);
Tensor joinHeads(const Tensor &split);
/// Exchanges the dims of a tensor: dim i of the result is dim `order[i]`.
Tensor permuted(const Tensor &from, llvm::ArrayRef<int64_t> order);
/// Elements [first, first + count) of dim `dim`; 0 beyond its end, where the last piece has padding.
Tensor sliced(const Tensor &from, size_t dim, int64_t first, int64_t count);
/// [batch, heads, past, size] with `current` behind it; `past` may be null.
Tensor appendPositions(const Tensor *past, const Tensor &current);
/// A cache of `length` positions: of batch element b the first `begins[b]` of `past` (null: zeros), then `current`.
/// Positions that do not fit are dropped.
Tensor placePositions(const Tensor *past, const Tensor &current, llvm::ArrayRef<int64_t> begins, int64_t length);
/// Rotates pairs of elements of each head of X [batch, heads, positions, size] by angles whose cosines and sines are
/// rows of [..., pairs]: element i with element pairs + i, or (`interleaved`) 2 i with 2 i + 1. Elements behind the
/// pairs stay, and so do positions whose row does not exist.
void rotate(Tensor &x, const Tensor &cosines, const Tensor &sines, bool interleaved,
            llvm::function_ref<int64_t(int64_t batch, int64_t position)> row);

/// A mask or bias that broadcasts to [batch, heads, queries, keys]: bools are seen or not, numbers are added. Keys
/// beyond its last dim are not seen. A null mask adds nothing.
class ScoreMask {
public:
  explicit ScoreMask(const Tensor *mask);
  double at(const ScoreIndex &index) const;

private:
  const Tensor *mask;
  int64_t keys = 0;
  llvm::SmallVector<int64_t, 4> strides; ///< of batch, head, query, key
};

/// Masks of com.microsoft's operators, which add a number to the scores of keys that are padding: lengths [batch],
/// lengths and first positions [2 batch], lengths with sums [3 batch + 2], or tables [batch, keys], [batch, queries,
/// keys] and [batch, 1, positions, positions] that are 0 at padding.
class PaddingMask {
public:
  PaddingMask(const Tensor *mask, int64_t batch, double filter) : mask(mask), batch(batch), filter(filter) {}
  /// `past`: positions before the first query.
  double at(const ScoreIndex &index, int64_t past) const;

private:
  bool isPadding(const ScoreIndex &index, int64_t past) const;

  const Tensor *mask;
  int64_t batch;
  double filter;
};

double floatAttribute(mlir::Operation *op, llvm::StringRef name, double otherwise);
/// `tensor` where result `index` is wanted, nothing otherwise.
Tensor resultOrNone(mlir::Operation *op, unsigned index, Tensor tensor);

/// The number of heads that a device has: the product of the pieces of the factors named.
int64_t localHeads(const LocalOp &local, llvm::ArrayRef<llvm::StringRef> factors);
/// A scalar i64: the first head that the device has, of those that the factors named make, major first.
mlir::Value firstHead(LocalOp &local, llvm::ArrayRef<llvm::StringRef> factors);

} // namespace apc

// Which bytes of a parameter each rank holds.
#pragma once

#include "apc/Sharding/Sharding.h"

namespace apc {

/// Runs of `length` at `offset + i * stride`, i < count, and so on for further strides, outermost first. A unit is a
/// byte, or a bit where the elements are smaller than bytes and a cut goes through one.
///
///   f32 [4, 6] cut in 2 along dim 1, second half: offset 12, length 12, repeats {{24, 4}}
struct ByteRange {
  struct Repeat {
    int64_t stride = 0;
    int64_t count = 1;
    friend bool operator==(const Repeat &, const Repeat &) = default;
  };
  int64_t offset = 0;
  int64_t length = 0; ///< 0: nothing
  llvm::SmallVector<Repeat, 2> repeats;

  friend bool operator==(const ByteRange &, const ByteRange &) = default;
};

/// One distinct piece of a tensor.
struct Shard {
  ByteRange range; ///< from the start of the tensor's data; of the first part where a dim is cut inside parts
  llvm::SmallVector<int64_t, 4> begin; ///< of each dim, in elements
  llvm::SmallVector<int64_t, 4> count; ///< elements of each dim that are the tensor's; the rest of the piece is padding
  /// The same in full: the runs of each dim, more than one where it is cut inside parts.
  llvm::SmallVector<llvm::SmallVector<DimRun, 1>, 4> runs = {};
  std::vector<ByteRange> furtherRanges = {}; ///< of the other parts, row-major over the parts of all dims
};

/// How tensors of one shape and sharding are cut: what parameters of equal layers share.
struct ByteLayout {
  TensorShape shape, localShape;
  Sharding sharding;
  unsigned unitBits = 8; ///< 8 or 1
  std::vector<Shard> shards;
  std::vector<unsigned> shardOfRank;
  llvm::SmallVector<size_t, 4> ways = {}; ///< pieces along each dim
};

/// Shards are numbered row-major by their place along each dim. Replicated: one shard, the whole tensor. Sharding and
/// shape must fit one another; elements of more than 8 bits are whole bytes.
ByteLayout layoutOf(const TensorShape &shape, const Sharding &sharding, const Mesh &mesh);

} // namespace apc

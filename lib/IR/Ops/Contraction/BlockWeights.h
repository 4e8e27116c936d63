// Weights of a few bits each, packed into bytes: the lowest bits of a byte come first.
#pragma once

#include "apc/IR/Kernels/Tensor.h"

namespace apc {

/// The bytes that `count` values of `bits` bits fill: 3 values of 4 bits are in 2 bytes.
inline int64_t bytesOf(int64_t count, int64_t bits) { return (count * bits + 7) / 8; }

/// Value `index`, of 1 to 8 bits, of the values from byte `first` on: 0x21 0x43 hold the 4-bit values 1, 2, 3, 4.
inline int64_t packedValue(const Tensor &bytes, int64_t first, int64_t index, int64_t bits) {
  int64_t bit = index * bits, at = first + bit / 8;
  auto low = static_cast<uint64_t>(bytes.ints[at]) & 0xff;
  uint64_t high =
      at + 1 < static_cast<int64_t>(bytes.ints.size()) ? static_cast<uint64_t>(bytes.ints[at + 1]) & 0xff : 0;
  return static_cast<int64_t>(((high << 8 | low) >> (bit % 8)) & ((uint64_t(1) << bits) - 1));
}

/// Rows of packed values with what makes them reals: (value - zero) * scale.
struct PackedRows {
  const Tensor &packed; ///< [..., bytes], the same number for each row
  const Tensor *scales; ///< `blocks` for each row; null for 1
  const Tensor *zeros;  ///< like the scales, or (`areZerosPacked`) packed like the values; null for half the range
  const Tensor *groups; ///< the block of each column; null: runs of `blockSize`, or (0) all columns
  int64_t rows, columns, bits, blockSize, blocks;
  bool areZerosPacked;
};
/// The elements of all rows.
std::vector<double> unpackRows(const PackedRows &rows);

} // namespace apc

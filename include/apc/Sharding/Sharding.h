// The placement of one tensor on the mesh: for each dim the axes that cut it, and the axes over which it is still
// partial.
#pragma once

#include "apc/Sharding/Mesh.h"

#include <optional>

namespace apc {

/// How the pieces of a partial tensor combine to the tensor.
enum class Combiner : uint8_t { Sum, Max, Min, Product, And, Or };

llvm::StringRef combinerName(Combiner combiner); ///< "sum", "max", ...
std::optional<Combiner> parseCombiner(llvm::StringRef name);

/// A shape with the bytes of one element. Sub-byte types count bits: an int4 tensor has `elementBits` 4.
struct TensorShape {
  llvm::SmallVector<int64_t, 4> dims;
  unsigned elementBits = 32;

  unsigned numDims() const { return static_cast<unsigned>(dims.size()); }
  int64_t numElements() const;
  /// Rounded up to whole bytes.
  int64_t bytes() const;

  friend bool operator==(const TensorShape &, const TensorShape &) = default;
};

/// dim -> axes (major first), plus the partial axes (ascending) with one combiner. An axis is used at most once.
///
/// On `[x0=2 | x1=4]` a tensor [8, 512] with `[x0, x1]` has local shape [4, 128]; `[(x0 x1), -]` has [1, 512]; `[-, -]
/// sum{x1}` is whole on every device, and the tensor is the sum over x1.
///
/// Uneven dims are cut axis by axis with ceil: 10 over (2 3) is first 5, then ceil(5/3) = 2 a piece. A device holds its
/// piece padded at the end; the pad is never part of the tensor.
struct Sharding {
  llvm::SmallVector<AxisList, 4> dims;
  AxisList partial;
  Combiner combiner = Combiner::Sum;

  /// Whole on every device.
  static Sharding replicated(unsigned numDims);

  unsigned numDims() const { return static_cast<unsigned>(dims.size()); }
  bool isReplicated() const;
  bool isPartial() const { return !partial.empty(); }
  /// The axes that cut some dim, ascending.
  AxisList usedAxes() const;

  /// `[x0, -, (x1 x2)] sum{x3}`; `parse` reads the same.
  std::string str(const Mesh &mesh) const;
  static llvm::Expected<Sharding> parse(llvm::StringRef text, const Mesh &mesh);

  friend bool operator==(const Sharding &, const Sharding &) = default;
  friend bool operator<(const Sharding &, const Sharding &);
};

/// An error that names the axis or dim when an axis is unknown or used twice, or `dims` does not match the shape.
llvm::Error check(const Sharding &sharding, const TensorShape &shape, const Mesh &mesh);

/// The padded extent that each device holds of a dim of `size`: 50257 over 8 -> 6283.
int64_t localSize(int64_t size, llvm::ArrayRef<AxisId> axes, const Mesh &mesh);
/// The padded shape that each device holds.
TensorShape localShape(const TensorShape &shape, const Sharding &sharding, const Mesh &mesh);

/// The part of a dim that one rank holds: [begin, begin + count), count <= localSize, and 0 when all of it is pad.
struct DimSlice {
  int64_t begin = 0;
  int64_t count = 0;
};
DimSlice dimSlice(int64_t size, llvm::ArrayRef<AxisId> axes, const Mesh &mesh, int64_t rank);

} // namespace apc

// The placement of one tensor on the mesh: for each dim the axes that cut it, and the axes over which it is still
// partial.
#pragma once

#include "apc/Sharding/Mesh.h"

#include <optional>

namespace apc {

/// How the pieces of a partial tensor combine to the tensor. LogSumExp: pieces a and b are log(exp a + exp b), as the
/// logarithms of sums of exponentials over the halves of a dim are that over the dim.
enum class Combiner : uint8_t { Sum, Max, Min, Product, And, Or, LogSumExp };

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

/// A dim whose axes cut each of its parts on its own. Queries, keys and values of 32 and 8 and 8 heads of 128 in one
/// dim are the parts {4096, 1024, 1024}: over 8 devices each holds 512 + 128 + 128 elements, its own heads of each
/// part.
struct PartedDim {
  unsigned dim = 0;
  llvm::SmallVector<int64_t, 4> sizes; ///< two or more; their sum is the dim

  friend bool operator==(const PartedDim &, const PartedDim &) = default;
  friend bool operator<(const PartedDim &a, const PartedDim &b) {
    return a.dim != b.dim ? a.dim < b.dim : a.sizes < b.sizes;
  }
};
using PartedDims = llvm::SmallVector<PartedDim, 1>;

/// The sizes of the parts of `dim`; empty when it is one run.
llvm::ArrayRef<int64_t> partsOf(llvm::ArrayRef<PartedDim> parted, unsigned dim);
/// Gives `dim` these parts in place of others; fewer than two make it one run.
void setParts(PartedDims &parted, unsigned dim, llvm::ArrayRef<int64_t> sizes);
/// `{4096 1024 1024}`, or nothing for one run; `parseParts` reads the same, without the braces.
std::string partsText(llvm::ArrayRef<int64_t> sizes);
std::optional<llvm::SmallVector<int64_t, 4>> parseParts(llvm::StringRef text);

/// dim -> axes (major first), plus the partial axes (ascending) with one combiner. An axis is used at most once.
///
/// On `[x0=2 | x1=4]` a tensor [8, 512] with `[x0, x1]` has local shape [4, 128]; `[(x0 x1), -]` has [1, 512]; `[-, -]
/// sum{x1}` is whole on every device, and the tensor is the sum over x1.
///
/// Uneven dims are cut axis by axis with ceil: 10 over (2 3) is first 5, then ceil(5/3) = 2 a piece. A device holds its
/// piece padded at the end; the pad is never part of the tensor.
///
/// `[-, x1{256 128 128}]` cuts a dim of 512 inside its three parts: a device holds 64 + 32 + 32 elements, the pieces of
/// the parts one behind the other. Each part is padded on its own.
struct Sharding {
  llvm::SmallVector<AxisList, 4> dims;
  AxisList partial;
  Combiner combiner = Combiner::Sum;
  PartedDims parted = {}; ///< by dim; dims that axes cut, and no others

  /// Whole on every device.
  static Sharding replicated(unsigned numDims);

  unsigned numDims() const { return static_cast<unsigned>(dims.size()); }
  bool isReplicated() const;
  bool isPartial() const { return !partial.empty(); }
  /// The axes that cut some dim, ascending.
  AxisList usedAxes() const;
  /// The parts inside which `dim` is cut; empty when it is cut as one run.
  llvm::ArrayRef<int64_t> partsOf(unsigned dim) const { return apc::partsOf(parted, dim); }
  /// Some shape that the sharding fits.
  TensorShape anyShape() const;

  /// `[x0, -, (x1 x2)] sum{x3}`; `parse` reads the same.
  std::string str(const Mesh &mesh) const;
  static llvm::Expected<Sharding> parse(llvm::StringRef text, const Mesh &mesh);

  friend bool operator==(const Sharding &, const Sharding &) = default;
  friend bool operator<(const Sharding &, const Sharding &);
};

/// An error that names the axis or dim when an axis is unknown or used twice, `dims` does not match the shape, or parts
/// do not make up their dim.
llvm::Error check(const Sharding &sharding, const TensorShape &shape, const Mesh &mesh);

/// The padded extent that each device holds of a dim of `size`: 50257 over 8 -> 6283.
int64_t localSize(int64_t size, llvm::ArrayRef<AxisId> axes, const Mesh &mesh);
/// The same of a dim of a sharding, cut inside its parts where it has some; and of each of these parts.
int64_t localSize(int64_t size, const Sharding &sharding, unsigned dim, const Mesh &mesh);
llvm::SmallVector<int64_t, 4> localParts(int64_t size, const Sharding &sharding, unsigned dim, const Mesh &mesh);
/// The padded shape that each device holds.
TensorShape localShape(const TensorShape &shape, const Sharding &sharding, const Mesh &mesh);

/// The part of a dim that one rank holds: [begin, begin + count), count <= localSize, and 0 when all of it is pad.
struct DimSlice {
  int64_t begin = 0;
  int64_t count = 0;
};
DimSlice dimSlice(int64_t size, llvm::ArrayRef<AxisId> axes, const Mesh &mesh, int64_t rank);

/// A run of a dim in a piece: the elements [begin, begin + count) of the dim stand in the piece from `at` on, and the
/// next run begins at `at + room`.
struct DimRun {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t at = 0;
  int64_t room = 0;
};
/// One run, or one for each part.
llvm::SmallVector<DimRun, 1> dimRuns(int64_t size, const Sharding &sharding, unsigned dim, const Mesh &mesh,
                                     int64_t rank);

} // namespace apc

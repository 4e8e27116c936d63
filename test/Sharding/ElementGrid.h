// A little machine that moves elements: every rank holds its padded piece, and each collective is carried out by its
// definition. Nothing here uses the library beyond the types.
#pragma once

#include "TestSupport.h"

#include "apc/Sharding/Redistribution.h"

namespace apc::test {

/// The pieces of one tensor on all ranks. Elements of the tensor are sums of terms, one for each coordinate along the
/// axes that are partial at the beginning; pad is poison and must never be read as an element.
class ElementGrid {
public:
  static constexpr int64_t kPoison = -1000000007;

  /// Cuts the tensor directly into `layout`, whose partial axes are a subset of `termAxes`.
  static ElementGrid make(const TensorShape &shape, const Sharding &layout, const AxisList &termAxes, const Mesh &mesh);

  /// Carries out a collective, including its claim about the sharding afterwards.
  void apply(const Collective &collective);

  const Sharding &getLayout() const { return layout; }
  /// True when each rank holds the same elements (pad aside).
  bool holdsSame(const ElementGrid &other) const;

private:
  struct Piece {
    std::vector<int64_t> extents;
    std::vector<int64_t> values;
  };

  ElementGrid(const TensorShape &shape, const Sharding &layout, const Mesh &mesh)
      : shape(shape), layout(layout), mesh(mesh), pieces(mesh.numDevices()) {}

  int64_t valueAt(int64_t element, llvm::ArrayRef<int64_t> where, const AxisList &termAxes) const;
  std::vector<int64_t> elementsOf(unsigned dim, llvm::ArrayRef<int64_t> where) const;
  std::vector<int64_t> partsIn(unsigned dim) const;
  std::vector<int64_t> heldParts(unsigned dim) const;
  void slice(unsigned dim, const AxisList &axes, llvm::ArrayRef<int64_t> parts);
  void gather(unsigned dim, const AxisList &axes);
  void reduce(const AxisList &axes);
  void permute(const AxisList &axes, const Sharding &result);
  std::vector<int64_t> pieceIndex(int64_t rank, const Sharding &of) const;

  TensorShape shape;
  Sharding layout;
  Mesh mesh;
  std::vector<Piece> pieces;
};

/// All shardings of `numDims` dims, each axis idle, partial (when allowed) or anywhere in any dim.
std::vector<Sharding> allShardings(unsigned numDims, const Mesh &mesh, bool withPartial);
/// The same with, for each dim that is cut, a copy cut inside each of the lists of parts that are for it.
std::vector<Sharding> withParts(std::vector<Sharding> list, llvm::ArrayRef<PartedDim> parted);

} // namespace apc::test

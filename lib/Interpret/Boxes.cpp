// Pieces of tensors, element by element.
#include "Boxes.h"

#include <cmath>
#include <limits>

namespace apc {

Box boxOf(llvm::ArrayRef<int64_t> wholeDims, const Sharding &sharding, const Mesh &mesh, int64_t rank) {
  Box box;
  for (auto [dim, size] : llvm::enumerate(wholeDims))
    box.push_back(dimRuns(size, sharding, static_cast<unsigned>(dim), mesh, rank));
  return box;
}

llvm::SmallVector<int64_t, 4> pieceDims(llvm::ArrayRef<int64_t> wholeDims, const Sharding &sharding, const Mesh &mesh) {
  llvm::SmallVector<int64_t, 4> dims;
  for (auto [dim, size] : llvm::enumerate(wholeDims))
    dims.push_back(localSize(size, sharding, static_cast<unsigned>(dim), mesh));
  return dims;
}

Tensor poisoned(llvm::ArrayRef<int64_t> dims, mlir::Type element, int64_t integer) {
  Tensor tensor;
  tensor.dims.assign(dims.begin(), dims.end());
  tensor.element = element;
  auto count = static_cast<size_t>(tensor.numElements());
  if (tensor.isFloat())
    tensor.floats.assign(count, std::numeric_limits<double>::quiet_NaN());
  else
    tensor.ints.assign(count, integer);
  return tensor;
}

namespace {

/// Elements that stand in a row in two pieces.
struct SharedRun {
  int64_t at = 0, otherAt = 0, count = 0;
};

llvm::SmallVector<SharedRun, 4> sharedRuns(llvm::ArrayRef<DimRun> runs, llvm::ArrayRef<DimRun> others) {
  llvm::SmallVector<SharedRun, 4> shared;
  for (const DimRun &run : runs)
    for (const DimRun &other : others) {
      int64_t begin = std::max(run.begin, other.begin);
      int64_t end = std::min(run.begin + run.count, other.begin + other.count);
      if (begin < end)
        shared.push_back({run.at + begin - run.begin, other.at + begin - other.begin, end - begin});
    }
  return shared;
}

/// The walk over what two pieces share, dim by dim.
struct SharedWalk {
  llvm::SmallVector<llvm::SmallVector<SharedRun, 4>, 4> shared; ///< by dim
  llvm::ArrayRef<int64_t> aDims, bDims;
  llvm::function_ref<void(int64_t, int64_t)> visit;

  /// All elements below dim `dim`, whose rows stand at `a` and `b`.
  void walk(size_t dim, int64_t a, int64_t b) const {
    if (dim == shared.size())
      return visit(a, b);
    bool isLast = dim + 1 == shared.size();
    for (const SharedRun &run : shared[dim]) {
      int64_t from = a * aDims[dim] + run.at, to = b * bDims[dim] + run.otherAt;
      for (int64_t k = 0; k < run.count; ++k)
        isLast ? visit(from + k, to + k) : walk(dim + 1, from + k, to + k);
    }
  }
};

} // namespace

void forEachShared(const Box &a, llvm::ArrayRef<int64_t> aDims, const Box &b, llvm::ArrayRef<int64_t> bDims,
                   llvm::function_ref<void(int64_t, int64_t)> visit) {
  SharedWalk walk{{}, aDims, bDims, visit};
  for (auto [runs, others] : llvm::zip_equal(a, b)) {
    walk.shared.push_back(sharedRuns(runs, others));
    if (walk.shared.back().empty())
      return;
  }
  walk.walk(0, 0, 0);
}

void copyElement(const Tensor &from, int64_t at, Tensor &to, int64_t toAt) {
  if (to.isFloat())
    to.floats[static_cast<size_t>(toAt)] = from.floats[static_cast<size_t>(at)];
  else
    to.ints[static_cast<size_t>(toAt)] = from.ints[static_cast<size_t>(at)];
}

bool isSameElement(const Tensor &a, int64_t at, const Tensor &b, int64_t bAt) {
  if (!a.isFloat())
    return a.ints[static_cast<size_t>(at)] == b.ints[static_cast<size_t>(bAt)];
  double x = a.floats[static_cast<size_t>(at)], y = b.floats[static_cast<size_t>(bAt)];
  return x == y || (std::isnan(x) && std::isnan(y));
}

} // namespace apc

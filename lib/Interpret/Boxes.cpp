// Pieces of tensors, element by element.
#include "Boxes.h"

#include <cmath>
#include <limits>

namespace apc {

Box boxOf(llvm::ArrayRef<int64_t> wholeDims, const Sharding &sharding, const Mesh &mesh, int64_t rank) {
  Box box;
  for (auto [size, axes] : llvm::zip_equal(wholeDims, sharding.dims))
    box.push_back(dimSlice(size, axes, mesh, rank));
  return box;
}

llvm::SmallVector<int64_t, 4> pieceDims(llvm::ArrayRef<int64_t> wholeDims, const Sharding &sharding, const Mesh &mesh) {
  llvm::SmallVector<int64_t, 4> dims;
  for (auto [size, axes] : llvm::zip_equal(wholeDims, sharding.dims))
    dims.push_back(localSize(size, axes, mesh));
  return dims;
}

Tensor poisoned(llvm::ArrayRef<int64_t> dims, mlir::Type element) {
  Tensor tensor;
  tensor.dims.assign(dims.begin(), dims.end());
  tensor.element = element;
  auto count = static_cast<size_t>(tensor.numElements());
  if (tensor.isFloat())
    tensor.floats.assign(count, std::numeric_limits<double>::quiet_NaN());
  else
    tensor.ints.assign(count, 1);
  return tensor;
}

void forEachShared(const Box &a, llvm::ArrayRef<int64_t> aDims, const Box &b, llvm::ArrayRef<int64_t> bDims,
                   llvm::function_ref<void(int64_t, int64_t)> visit) {
  size_t numDims = a.size();
  llvm::SmallVector<int64_t, 4> begin(numDims), end(numDims);
  for (size_t dim = 0; dim < numDims; ++dim) {
    begin[dim] = std::max(a[dim].begin, b[dim].begin);
    end[dim] = std::min(a[dim].begin + a[dim].count, b[dim].begin + b[dim].count);
    if (begin[dim] >= end[dim])
      return;
  }
  auto position = [&](const Box &box, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> index) {
    int64_t at = 0;
    for (size_t dim = 0; dim < numDims; ++dim)
      at = at * dims[dim] + index[dim] - box[dim].begin;
    return at;
  };
  llvm::SmallVector<int64_t, 4> index(begin);
  int64_t run = numDims == 0 ? 1 : end.back() - begin.back();
  for (;;) {
    int64_t from = position(a, aDims, index), to = position(b, bDims, index);
    for (int64_t k = 0; k < run; ++k)
      visit(from + k, to + k);
    // The next row: the last dim is done in one go.
    size_t dim = numDims < 2 ? 0 : numDims - 1;
    while (dim > 0 && ++index[dim - 1] == end[dim - 1]) {
      index[dim - 1] = begin[dim - 1];
      --dim;
    }
    if (dim == 0)
      return;
  }
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

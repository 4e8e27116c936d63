// Kernels that walk over the indices of a tensor.
#include "apc/IR/Kernels/IndexLoops.h"

#include "apc/IR/Apc.h"

namespace apc {

mlir::RankedTensorType evaluatedType(mlir::Operation *op) {
  llvm::SmallVector<mlir::Type, 2> types;
  if (mlir::failed(llvm::cast<OperatorInterface>(op).inferTypes(types)) || types.empty())
    return {};
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(types.front());
  return type;
}

void forEachIndex(llvm::ArrayRef<int64_t> dims, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
  if (llvm::is_contained(dims, 0))
    return;
  llvm::SmallVector<int64_t, 4> index(dims.size(), 0);
  while (true) {
    visit(index);
    size_t dim = dims.size();
    while (dim > 0 && ++index[dim - 1] == dims[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

int64_t positionOf(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> dims) {
  int64_t position = 0;
  for (auto [i, size] : llvm::zip_equal(index, dims))
    position = position * size + i;
  return position;
}

void appendElement(Tensor &to, const Tensor &from, int64_t position) {
  if (from.isFloat())
    to.floats.push_back(from.floats[position]);
  else
    to.ints.push_back(from.ints[position]);
}

std::optional<Tensor> pickElements(const Tensor &from, mlir::RankedTensorType type,
                                   llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> position) {
  Tensor to;
  to.dims.assign(type.getShape().begin(), type.getShape().end());
  to.element = type.getElementType();
  bool inside = true;
  int64_t numElements = from.numElements();
  forEachIndex(to.dims, [&](llvm::ArrayRef<int64_t> index) {
    int64_t at = inside ? position(index) : -1;
    inside &= at >= 0 && at < numElements;
    if (inside)
      appendElement(to, from, at);
  });
  return inside ? std::optional(std::move(to)) : std::nullopt;
}

} // namespace apc

// Operators that move elements, on pieces: the sizes that their attributes and constants name become those of the
// piece.
#include "apc/IR/Ops/Movement/Movement.h"

namespace apc {

void localizeSqueeze(LocalOp &local) {
  auto removed = squeezedDims(llvm::cast<SqueezeOp>(local.original));
  if (mlir::failed(removed))
    return;
  llvm::SmallVector<int64_t, 4> axes;
  for (unsigned dim : removed->set_bits())
    axes.push_back(dim);
  local.operands[1] = ConstantOp::create(local.builder, local.original->getLoc(), local.builder.getI64TensorAttr(axes));
}

void localizeTile(LocalOp &local) {
  auto repeats = constantInts(local.original->getOperand(1));
  if (!repeats)
    return;
  for (auto [count, from, to] : llvm::zip_equal(*repeats, local.operandDims(0), local.resultDims(0)))
    count = from == 0 ? count : to / from;
  local.setConstant(1, *repeats);
}

void localizeCenterCropPad(LocalOp &local) {
  auto crop = llvm::cast<CenterCropPadOp>(local.original);
  llvm::ArrayRef<int64_t> dims = local.resultDims(0);
  std::optional<llvm::ArrayRef<int64_t>> axes = crop.getAxes();
  if (!axes)
    return local.setConstant(1, dims);
  llvm::SmallVector<int64_t, 4> sizes;
  for (int64_t axis : *axes)
    sizes.push_back(dims[axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis]);
  local.setConstant(1, sizes);
}

} // namespace apc

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

void localizeSplit(LocalOp &local) {
  auto split = llvm::cast<SplitOp>(local.original);
  auto numDims = static_cast<int64_t>(local.operandDims(0).size()), axis = static_cast<int64_t>(split.getAxis());
  auto dim = static_cast<unsigned>(axis < 0 ? axis + numDims : axis);
  if (!local.isOperandCut(0, dim))
    return;
  llvm::SmallVector<int64_t, 4> sizes;
  for (unsigned index = 0; index < split->getNumResults(); ++index)
    sizes.push_back(local.resultDims(index)[dim]);
  local.operands[1] =
      ConstantOp::create(local.builder, local.original->getLoc(), local.builder.getI64TensorAttr(sizes));
  local.attributes.erase("num_outputs");
}

/// The elements of a piece in front of the part that begins at `begin` in the whole dim.
static int64_t placeInPiece(const LocalOp &local, const PartedDim &parted, const Sharding &sharding, int64_t begin) {
  llvm::SmallVector<int64_t, 4> held = localParts(0, sharding, parted.dim, local.mesh);
  int64_t place = 0, start = 0;
  for (size_t part = 0; start < begin; ++part) {
    start += parted.sizes[part];
    place += held[part];
  }
  return place;
}

void localizeSlice(LocalOp &local) {
  auto slice = llvm::cast<SliceOp>(local.original);
  std::optional<PartedDim> parted = partedData(slice);
  if (!parted || !local.isOperandCut(0, parted->dim))
    return;
  auto sliced = slicedDims(slice);
  auto starts = constantInts(slice.getStarts()), ends = constantInts(slice.getEnds()),
       axes = constantInts(slice.getAxes());
  if (mlir::failed(sliced) || !starts || !ends)
    return;
  auto numDims = static_cast<int64_t>(local.operandDims(0).size());
  int64_t begin =
      placeInPiece(local, *parted, operandSharding(local.rule, local.strategy, 0), (*sliced)[parted->dim].start);
  for (size_t entry = 0; entry < starts->size(); ++entry) {
    int64_t axis = axes ? (*axes)[entry] : static_cast<int64_t>(entry);
    if ((axis + numDims) % numDims != parted->dim)
      continue;
    (*starts)[entry] = begin;
    (*ends)[entry] = begin + local.resultDims(0)[parted->dim];
  }
  local.setConstant(1, *starts);
  local.setConstant(2, *ends);
}

void localizePad(LocalOp &local) {
  auto pad = llvm::cast<PadOp>(local.original);
  std::optional<PartedDim> parted = partedResult(pad);
  if (!parted || local.resultAxes(0, parted->dim).empty())
    return;
  auto padded = paddedDims(pad);
  auto pads = constantInts(pad.getPads()), axes = constantInts(pad.getAxes());
  if (mlir::failed(padded) || !pads)
    return;
  auto numDims = static_cast<int64_t>(local.operandDims(0).size());
  int64_t before =
      placeInPiece(local, *parted, resultSharding(local.rule, local.strategy, 0), (*padded)[parted->dim].before);
  size_t count = pads->size() / 2;
  for (size_t entry = 0; entry < count; ++entry) {
    int64_t axis = axes ? (*axes)[entry] : static_cast<int64_t>(entry);
    if ((axis + numDims) % numDims != parted->dim)
      continue;
    (*pads)[entry] = before;
    (*pads)[entry + count] = local.resultDims(0)[parted->dim] - before - local.operandDims(0)[parted->dim];
  }
  local.setConstant(1, *pads);
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

// Operators that move elements, in StableHLO.
#include "apc/IR/Hlo/HloWriter.h"
#include "apc/IR/Ops/Movement/Movement.h"

#include "llvm/ADT/Sequence.h"

namespace apc {

namespace hlo {
namespace {

llvm::ArrayRef<int64_t> resultDims(mlir::Operation *op) { return dimsOf(op->getResult(0)); }
unsigned place(int64_t axis, Hlo x) { return static_cast<unsigned>(axis < 0 ? axis + x.numDims() : axis); }

HloList reshaped(mlir::Operation *op, HloWriter &h) { return reshape(h(op->getOperand(0)), resultDims(op)); }

HloList transposed(TransposeOp op, HloWriter &h) {
  Hlo x = h(op.getData());
  if (auto perm = op.getPerm())
    return transpose(x, *perm);
  return transpose(x, llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, x.numDims()))));
}

HloList tile(TileOp op, HloWriter &h) {
  Hlo x = h(op.getInput());
  HloDims wide, places;
  for (auto [size, whole] : llvm::zip_equal(x.dims(), resultDims(op))) {
    wide.push_back(size == 0 ? 1 : whole / size);
    places.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(size);
  }
  return reshape(broadcastInDim(x, wide, places), resultDims(op));
}

HloList concatenated(ConcatOp op, HloWriter &h) {
  HloList parts;
  for (mlir::Value part : op.getInputs())
    parts.push_back(h(part));
  return concat(parts, place(op.getAxis(), parts.front()));
}

HloList split(SplitOp op, HloWriter &h) {
  Hlo x = h(op.getInput());
  unsigned dim = place(op.getAxis(), x);
  HloList parts;
  int64_t begin = 0;
  for (mlir::Value part : op->getResults()) {
    int64_t size = dimsOf(part)[dim];
    parts.push_back(slice(x, dim, begin, begin + size));
    begin += size;
  }
  return parts;
}

/// A list of integers that an operand holds: its own, or the counts from 0 on where it is absent.
std::optional<HloDims> listed(mlir::Value value, size_t count, bool isSteps = false) {
  HloDims list;
  for (size_t i = 0; isAbsent(value) && i < count; ++i)
    list.push_back(isSteps ? 1 : static_cast<int64_t>(i));
  if (isAbsent(value))
    return list;
  auto found = constantInts(value);
  return found ? std::optional<HloDims>(*found) : std::nullopt;
}

HloList sliced(SliceOp op, HloWriter &h) {
  Hlo x = h(op.getData());
  auto starts = constantInts(op.getStarts()), ends = constantInts(op.getEnds());
  auto axes = listed(op.getAxes(), starts ? starts->size() : 0),
       steps = listed(op.getSteps(), starts ? starts->size() : 0, true);
  if (!starts || !ends || !axes || !steps)
    return h.refuse("places that are no constants");
  for (auto [start, end, axis, step] : llvm::zip_equal(*starts, *ends, *axes, *steps)) {
    unsigned dim = place(axis, x);
    int64_t size = x.size(dim), first = start < 0 ? start + size : start, last = end < 0 ? end + size : end;
    if (step > 0) {
      x = slice(x, dim, std::clamp<int64_t>(first, 0, size), std::clamp<int64_t>(last, 0, size), step);
      continue;
    }
    // Backwards: the dim turned round, counted from its other end.
    first = std::clamp<int64_t>(first, -1, size - 1), last = end < -size ? -1 : std::clamp<int64_t>(last, -1, size - 1);
    x = slice(reverse(x, {dim}), dim, size - 1 - first, std::max(size - 1 - last, size - 1 - first), -step);
  }
  return x;
}

HloList padded(PadOp op, HloWriter &h) {
  Hlo x = h(op.getData());
  auto pads = constantInts(op.getPads());
  auto axes = listed(op.getAxes(), x.numDims());
  auto filling = isAbsent(op.getConstantValue()) ? mlir::DenseElementsAttr() : constantOf(op.getConstantValue());
  if (!pads || !axes || (!filling && !isAbsent(op.getConstantValue())))
    return h.refuse("padding that is no constant");
  if (op.getMode() != "constant")
    return h.refuse("mode '" + op.getMode() + "'");
  double value = op.getValue() ? op.getValue()->convertToDouble() : 0;
  if (filling)
    value = x.isFloat() ? (*filling.getValues<llvm::APFloat>().begin()).convertToDouble()
                        : static_cast<double>((*filling.getValues<llvm::APInt>().begin()).getSExtValue());
  for (auto [index, axis] : llvm::enumerate(*axes))
    x = pad(x, place(axis, x), (*pads)[index], (*pads)[index + axes->size()], value);
  return x;
}

constexpr HloLowering rows[] = {
    hloRow<ReshapeOp, reshaped>(),
    hloRow<FlattenOp, reshaped>(),
    hloRow<SqueezeOp, reshaped>(),
    hloRow<UnsqueezeOp, reshaped>(),
    hloRow<IdentityOp, reshaped>(),
    hloRow<TransposeOp, transposed>(),
    hloRow<ExpandOp,
           [](ExpandOp op, HloWriter &h) -> HloList { return broadcast(h(op.getInput()), resultDims(op)); }>(),
    hloRow<TileOp, tile>(),
    hloRow<ConcatOp, concatenated>(),
    hloRow<SplitOp, split>(),
    hloRow<SliceOp, sliced>(),
    hloRow<PadOp, padded>(),
};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloMovement();
llvm::ArrayRef<HloLowering> hloMovement() { return hlo::rows; }

} // namespace apc

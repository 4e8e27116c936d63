// Ops that depend on the rank, in ONNX: all of it comes in through positions, the results of `shard_offset`.
#include "Spans.h"

#include "apc/IR/Ops/Spmd/Spmd.h"

#include <numeric>

namespace apc {

mlir::Value spanOf(OnnxForm &form, AxesAttr axes, int64_t size) {
  mlir::Builder &builder = form.getBuilder();
  mlir::OperationState state(form.getOp()->getLoc(), ShardOffsetOp::getOperationName());
  state.addAttribute("axes", axes);
  state.addAttribute("size", builder.getI64IntegerAttr(size));
  state.addTypes(mlir::RankedTensorType::get({2}, builder.getI64Type()));
  return form.create(state)->getResult(0);
}

namespace {

using Results = llvm::SmallVector<mlir::Value, 1>;

mlir::Value counted(OnnxForm &form, int64_t size) {
  llvm::SmallVector<int64_t> numbers(static_cast<size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  return form.integers(numbers);
}

/// Each part of a dim in turn, cut by the axes of the group.
mlir::Value sliceParts(OnnxForm &form, mlir::Value input, unsigned dim, llvm::ArrayRef<int64_t> parts,
                       const CollectiveAttr &collective) {
  const Mesh &mesh = collective.getMesh().getValue();
  const AxisList &axes = collective.getValue().axes;
  llvm::SmallVector<mlir::Value> pieces;
  int64_t at = 0;
  for (int64_t size : parts) {
    int64_t held = localSize(size, axes, mesh), room = 0, inner = size;
    for (AxisId axis : axes) { // the last piece of all begins at most here
      inner = llvm::divideCeil(inner, mesh.axis(axis).size);
      room += (mesh.axis(axis).size - 1) * inner;
    }
    mlir::Value part = form.padTo(form.slice(input, dim, at, at + size), dim, std::max(size, room + held));
    mlir::Value span = spanOf(form, AxesAttr::get(collective.getMesh(), axes), size);
    pieces.push_back(form.window(part, dim, form.begin(span), held));
    at += size;
  }
  return form.concat(pieces, dim);
}

Results shardSlice(OnnxForm &form) {
  CollectiveAttr attribute = llvm::cast<CollectiveInterface>(form.getOp()).getCollective();
  Results results;
  for (auto [value, input] : llvm::zip_equal(attribute.getValue().values, form.getOp()->getOperands())) {
    mlir::Value piece = input;
    for (unsigned dim = 0; dim < value.from.numDims(); ++dim) {
      if (value.from.dims[dim] == value.to.dims[dim])
        continue;
      llvm::SmallVector<int64_t, 4> parts = {dimsOf(input)[dim]};
      if (!value.to.partsOf(dim).empty()) {
        Sharding before = value.from;
        setParts(before.parted, dim, value.to.partsOf(dim));
        parts = localParts(value.dims[dim], before, dim, attribute.getMesh().getValue());
      }
      piece = sliceParts(form, piece, dim, parts, attribute);
    }
    results.push_back(piece);
  }
  return results;
}

Results maskPadding(OnnxForm &form) {
  auto op = llvm::cast<MaskPaddingOp>(form.getOp());
  mlir::Value input = op.getInput();
  const Mesh &mesh = op.getAxes().getMesh().getValue();
  auto dim = static_cast<size_t>(op.getDim());
  llvm::SmallVector<mlir::Value> masks;
  for (int64_t size : op.getPartSizes()) {
    mlir::Value span = spanOf(form, op.getAxes(), size);
    mlir::Value count = form.sub(form.end(span), form.begin(span));
    masks.push_back(form.less(counted(form, localSize(size, op.getAxes().getValue(), mesh)), count));
  }
  llvm::SmallVector<int64_t> dims(dimsOf(input).size() - dim, 1);
  dims[0] = dimsOf(input)[dim];
  mlir::TypedAttr neutral = neutralAttribute(op.getCombiner().getValue(), getElementTypeOrSelf(input.getType()));
  auto scalar = mlir::RankedTensorType::get({}, neutral.getType());
  mlir::OpBuilder builder(op);
  mlir::Value fill =
      ConstantOp::create(builder, op.getLoc(), mlir::DenseElementsAttr::get(scalar, mlir::Attribute(neutral)));
  return {form.where(form.reshape(form.concat(masks, 0), dims), input, fill)};
}

/// A device is first where its piece of as many elements as there are devices begins at 0.
Results keepOnFirst(OnnxForm &form) {
  auto op = llvm::cast<KeepOnFirstOp>(form.getOp());
  int64_t ways = op.getAxes().getMesh().getValue().size(op.getAxes().getValue());
  mlir::Value isFirst = form.equal(form.begin(spanOf(form, op.getAxes(), ways)), form.index(0));
  return {form.where(isFirst, op.getInput())};
}

constexpr OnnxFormEntry forms[] = {
    {ShardSliceOp::getOperationName(), shardSlice},
    {MaskPaddingOp::getOperationName(), maskPadding},
    {KeepOnFirstOp::getOperationName(), keepOnFirst},
};

} // namespace

llvm::ArrayRef<OnnxFormEntry> spmdForms() { return forms; }

} // namespace apc

// Operators that move blocks: between depth and space, around the centre, in reverse; and operators that read only a
// shape.
#include "apc/IR/Ops/Movement/Movement.h"

#include "apc/IR/RuleBuilder.h"
#include "llvm/Support/MathExtras.h"

namespace apc {

namespace {

/// The four dims and the block of DepthToSpace and SpaceToDepth; errors at the op.
mlir::LogicalResult checkBlock(mlir::Operation *op, mlir::Value input, int64_t block) {
  if (dimsOf(input).size() != 4)
    return op->emitOpError() << "takes [n, c, h, w], but its input is " << printDims(dimsOf(input));
  if (block < 1 || block > (1 << 15))
    return op->emitOpError() << "blocksize " << block << " is outside [1, 32768]";
  return mlir::success();
}

} // namespace

mlir::LogicalResult DepthToSpaceOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto block = static_cast<int64_t>(getBlocksize());
  if (mlir::failed(checkBlock(*this, getInput(), block)))
    return mlir::failure();
  if (getMode() != "DCR" && getMode() != "CRD")
    return emitOpError() << "mode '" << getMode() << "' is none of DCR, CRD";
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getInput()));
  if (dims[1] % (block * block) != 0)
    return emitOpError() << "depth " << dims[1] << " does not divide into blocks of " << block << " by " << block;
  dims[1] /= block * block;
  for (unsigned dim : {2, 3})
    dims[dim] = mergedSize({dims[dim], block});
  return addType(*this, dims, operandElement(*this, 0), types);
}

// DCR `n (p q c) h w -> n c (h p) (w q)`, CRD `n (c p q) h w -> n c (h p) (w q)` with p, q whole.
mlir::FailureOr<FactorRule> DepthToSpaceOp::getRule() {
  RuleBuilder rule(*this);
  llvm::ArrayRef<int64_t> sizes = dimsOf(getOutput());
  auto block = static_cast<int64_t>(getBlocksize());
  DimFactors n = rule.parallel(sizes[0]), c = rule.parallel(sizes[1]), h = rule.parallel(dimsOf(getInput())[2]),
             w = rule.parallel(dimsOf(getInput())[3]);
  FactorId p = rule.whole(block).front(), q = rule.whole(block).front();
  DimFactors depth = getMode() == "DCR" ? DimFactors{p, q, c.front()} : DimFactors{c.front(), p, q};
  rule.setOperand(0, {n, depth, h, w});
  rule.setResult(0, {n, c, {h.front(), p}, {w.front(), q}});
  rule.setLinear({0});
  return rule.take(Work::Stream);
}

mlir::LogicalResult SpaceToDepthOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto block = static_cast<int64_t>(getBlocksize());
  if (mlir::failed(checkBlock(*this, getInput(), block)))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getInput()));
  dims[1] = mergedSize({dims[1], block * block});
  for (unsigned dim : {2, 3}) {
    if (dims[dim] % block != 0)
      return emitOpError() << "dim " << dim << " of " << printDims(dimsOf(getInput()))
                           << " does not divide into blocks of " << block;
    dims[dim] /= block;
  }
  return addType(*this, dims, operandElement(*this, 0), types);
}

// `n c (h p) (w q) -> n (p q c) h w` with p, q whole.
mlir::FailureOr<FactorRule> SpaceToDepthOp::getRule() {
  RuleBuilder rule(*this);
  llvm::ArrayRef<int64_t> sizes = dimsOf(getOutput());
  auto block = static_cast<int64_t>(getBlocksize());
  DimFactors n = rule.parallel(sizes[0]), c = rule.parallel(dimsOf(getInput())[1]), h = rule.parallel(sizes[2]),
             w = rule.parallel(sizes[3]);
  FactorId p = rule.whole(block).front(), q = rule.whole(block).front();
  rule.setOperand(0, {n, c, {h.front(), p}, {w.front(), q}});
  rule.setResult(0, {n, {p, q, c.front()}, h, w});
  rule.setLinear({0});
  return rule.take(Work::Stream);
}

mlir::LogicalResult ReverseSequenceOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput()), lengths = dimsOf(getSequenceLens());
  auto time = static_cast<int64_t>(getTimeAxis()), batch = static_cast<int64_t>(getBatchAxis());
  if (dims.size() < 2 || time + batch != 1 || time * batch != 0)
    return emitOpError() << "takes batch_axis and time_axis 0 and 1 in either order and at least 2 dims, not " << batch
                         << ", " << time << " and " << printDims(dims);
  if (lengths.size() != 1 || lengths.front() != dims[batch])
    return emitOpError() << "sequence_lens " << printDims(lengths) << " does not match the batch of "
                         << printDims(dims);
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> ReverseSequenceOp::getRule() {
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> dims;
  for (auto [dim, size] : llvm::enumerate(dimsOf(getInput())))
    dims.push_back(dim == getTimeAxis() ? rule.whole(size) : rule.parallel(size));
  rule.setOperand(0, dims);
  rule.setOperand(1, {dims[getBatchAxis()]});
  rule.setResult(0, dims);
  rule.setLinear({0});
  return rule.take(Work::Stream);
}

mlir::LogicalResult CenterCropPadOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getInputData()));
  auto shape = requireInts(*this, 1);
  if (mlir::failed(shape))
    return mlir::failure();
  llvm::SmallVector<int64_t, 6> axes;
  if (getAxes())
    axes.assign(getAxes()->begin(), getAxes()->end());
  else
    for (size_t dim = 0; dim < dims.size(); ++dim)
      axes.push_back(static_cast<int64_t>(dim));
  auto normalized = normalizeAxes(*this, axes, dims.size());
  if (mlir::failed(normalized))
    return mlir::failure();
  if (shape->size() != axes.size())
    return emitOpError() << "shape has " << shape->size() << " entries for " << axes.size() << " axes";
  for (auto [dim, size] : llvm::zip_equal(*normalized, *shape))
    dims[dim] = size;
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> CenterCropPadOp::getRule() {
  llvm::ArrayRef<int64_t> from = dimsOf(getInputData()), to = dimsOf(getOutputData());
  llvm::SmallBitVector touched(from.size());
  for (size_t dim = 0; dim < from.size(); ++dim)
    touched[dim] = from[dim] != to[dim];
  return alignedRule(*this, 1, touched, /*linear=*/true);
}

namespace {

/// The dims that Shape reports: those in [start, end), both clamped.
llvm::ArrayRef<int64_t> reportedDims(ShapeOp op) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op.getData());
  auto count = static_cast<int64_t>(dims.size());
  auto clamp = [&](int64_t bound) { return std::clamp<int64_t>(bound < 0 ? bound + count : bound, 0, count); };
  int64_t start = clamp(static_cast<int64_t>(op.getStart()));
  int64_t end = op.getEnd() ? clamp(static_cast<int64_t>(*op.getEnd())) : count;
  return dims.slice(start, std::max<int64_t>(end - start, 0));
}

} // namespace

mlir::LogicalResult ShapeOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  return addType(*this, {static_cast<int64_t>(reportedDims(*this).size())}, indexElement(*this), types);
}

Evaluated ShapeOp::evaluate(Operands operands) {
  llvm::ArrayRef<int64_t> dims = reportedDims(*this);
  return evaluatedAs(Tensor{{static_cast<int64_t>(dims.size())}, indexElement(*this), dims.vec(), {}});
}

mlir::LogicalResult SizeOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  return addType(*this, {}, indexElement(*this), types);
}

Evaluated SizeOp::evaluate(Operands operands) {
  std::optional<int64_t> count = checkedProduct(dimsOf(getData()));
  if (!count)
    return std::nullopt;
  return evaluatedAs(Tensor{{}, indexElement(*this), {*count}, {}});
}

} // namespace apc

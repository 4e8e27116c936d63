// Reductions in ONNX: means of pieces, and logarithms of sums.
#include "../OnnxForm.h"

namespace apc {

namespace {

using Results = llvm::SmallVector<mlir::Value, 1>;

/// Of a piece: its sum over the number of elements of the whole.
Results reduceMean(OnnxForm &form) {
  mlir::Operation *op = form.getOp();
  if (!form.has("count"))
    return {op->getResult(0)};
  mlir::NamedAttribute attributes[] = {form.attribute("keepdims", form.integer("keepdims", 1)),
                                       form.attribute("noop_with_empty_axes", form.integer("noop_with_empty_axes"))};
  mlir::Value sum = form.make<ReduceSumOp>(op->getOperands(), attributes);
  return {form.div(sum, form.scalar(static_cast<double>(form.integer("count")), sum))};
}

/// m + log(sum(exp(x - m))), m the greatest x, or the lowest number where all are minus infinity.
Results logSumExp(OnnxForm &form) {
  mlir::Operation *op = form.getOp();
  mlir::Value data = form.asResult(form.operand("data"));
  mlir::Value axes = op->getNumOperands() > 1 ? op->getOperand(1) : form.absent();
  mlir::NamedAttribute noop = form.attribute("noop_with_empty_axes", form.integer("noop_with_empty_axes"));
  auto element = llvm::cast<mlir::FloatType>(getElementTypeOrSelf(data.getType()));
  double lowest = llvm::APFloat::getLargest(element.getFloatSemantics(), /*Negative=*/true).convertToDouble();
  mlir::Value greatest = form.make<ReduceMaxOp>({data, axes}, noop);
  greatest = form.make<MaxOp>({greatest, form.scalar(lowest, data)});
  mlir::Value sum = form.make<ReduceSumOp>({form.exp(form.sub(data, greatest)), axes}, noop);
  return {form.reshape(form.add(greatest, form.log(sum)), dimsOf(op->getResult(0)))};
}

constexpr OnnxFormEntry forms[] = {
    {ReduceMeanOp::getOperationName(), reduceMean},
    {LogSumExpOp::getOperationName(), logSumExp},
};

} // namespace

llvm::ArrayRef<OnnxFormEntry> reductionForms() { return forms; }

} // namespace apc

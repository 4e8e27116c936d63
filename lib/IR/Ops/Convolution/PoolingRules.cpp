// Pools: shapes and rules.
#include "../Attributes.h"
#include "Convolution.h"
#include "Windows.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

mlir::FailureOr<llvm::SmallVector<WindowDim, 3>> readPool(mlir::Operation *op, llvm::ArrayRef<int64_t> dims) {
  if (dims.size() < 3)
    return op->emitOpError() << "operand '" << operandName(op, 0) << "' has " << dims.size()
                             << " dims; batch, channels and at least one spatial dim are needed",
           mlir::failure();
  if (intsAttribute(op, "kernel_shape").empty())
    return op->emitOpError() << "'kernel_shape' is empty; one value for each spatial dim is needed", mlir::failure();
  return readWindows(op, dims.drop_front(2), {});
}

mlir::FailureOr<llvm::SmallVector<WindowDim, 3>> readPool(mlir::Operation *op) {
  return readPool(op, dimsOf(op->getOperand(0)));
}

namespace {

/// Every dim of operand and results whole.
FactorRule wholePoolRule(mlir::Operation *op) {
  FactorRuleBuilder builder;
  addReplicated(builder, op->getOperand(0));
  llvm::SmallVector<DimFactors, 4> dims;
  for (auto [index, size] : llvm::enumerate(dimsOf(op->getResult(0))))
    dims.push_back({builder.addWhole(numbered("y", index), size)});
  for (mlir::Value result : op->getResults())
    addResult(builder, result, dims);
  return builder.take();
}

} // namespace

mlir::LogicalResult inferPool(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto windows = readPool(op);
  if (mlir::failed(windows))
    return mlir::failure();
  llvm::ArrayRef<int64_t> input = dimsOf(op->getOperand(0));
  llvm::SmallVector<int64_t, 5> dims = {input[0], input[1]};
  for (const WindowDim &window : *windows)
    dims.push_back(window.output);
  if (mlir::failed(addType(op, dims, operandElement(op, 0), types)))
    return mlir::failure();
  return op->getNumResults() > 1 ? addType(op, dims, indexElement(op), types) : mlir::success();
}

mlir::FailureOr<FactorRule> poolRule(mlir::Operation *op, PoolForm form) {
  auto windows = readPool(op);
  if (mlir::failed(windows))
    return mlir::failure();
  double flops = double(shapeOf(op->getResult(0))->numElements());
  for (const WindowDim &window : *windows)
    flops *= double(window.kernel);
  if (op->getNumResults() > 1 && !isAbsent(op->getResult(1))) {
    FactorRule rule = wholePoolRule(op);
    setFlops(rule, flops);
    return rule;
  }
  FactorRuleBuilder builder;
  llvm::ArrayRef<int64_t> input = dimsOf(op->getOperand(0));
  FactorId batch = builder.addFactor("n", input[0]), channels = builder.addFactor("c", input[1]);
  llvm::SmallVector<DimFactors, 4> data = {{batch}, {channels}}, result = data;
  for (auto [index, window] : llvm::enumerate(*windows)) {
    WindowFactors dim = addWindowFactors(builder, window, index, form.mayCutWindow, form.combiner, false);
    data.push_back(dim.input);
    result.push_back(dim.output);
  }
  addOperand(builder, op->getOperand(0), data);
  addResult(builder, op->getResult(0), result);
  if (op->getNumResults() > 1)
    builder.addAbsentResult();
  if (form.mayCutWindow && form.combiner == Combiner::Sum)
    builder.addLinear({0});
  FactorRule rule = builder.take();
  setFlops(rule, flops);
  return rule;
}

mlir::LogicalResult inferGlobalPool(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> input = dimsOf(op->getOperand(0));
  if (input.size() < 2)
    return op->emitOpError() << "operand '" << operandName(op, 0) << "' has " << input.size()
                             << " dims; batch and channels are needed";
  llvm::SmallVector<int64_t, 5> dims(input.size(), 1);
  dims[0] = input[0];
  dims[1] = input[1];
  return addType(op, dims, operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> globalPoolRule(mlir::Operation *op, PoolForm form) {
  FactorRuleBuilder builder;
  llvm::SmallVector<DimFactors, 4> data, result;
  for (auto [index, size] : llvm::enumerate(dimsOf(op->getOperand(0)))) {
    std::string name = index == 0 ? "n" : index == 1 ? "c" : numbered("h", index - 2);
    if (index < 2)
      data.push_back({builder.addFactor(name, size)});
    else
      data.push_back(
          {form.mayCutWindow ? builder.addReduction(name, size, form.combiner) : builder.addWhole(name, size)});
    result.push_back(index < 2 ? data.back() : DimFactors());
  }
  addOperand(builder, op->getOperand(0), data);
  addResult(builder, op->getResult(0), result);
  if (form.mayCutWindow && form.combiner == Combiner::Sum)
    builder.addLinear({0});
  builder.setFlopsPerPoint(1);
  return builder.take();
}

void localizePool(LocalOp &local) {
  llvm::ArrayRef<int64_t> whole = intsAttribute(local.original, "kernel_shape");
  llvm::SmallVector<int64_t, 3> kernel(whole);
  for (auto [index, factor] : llvm::enumerate(local.rule.factors)) {
    int64_t ways = local.mesh.size(local.strategy.axes[index]);
    for (auto [dim, size] : llvm::enumerate(kernel))
      if (factor.name == numbered("r", dim))
        size = (size + ways - 1) / ways;
  }
  if (llvm::ArrayRef(kernel) == whole)
    return;
  local.attributes.set("kernel_shape", local.builder.getDenseI64ArrayAttr(kernel));
  if (llvm::isa<AveragePoolOp>(local.original))
    local.attributes.set("whole_kernel", local.builder.getDenseI64ArrayAttr(whole));
}

void localizeGlobalAverage(LocalOp &local) {
  int64_t count = 1;
  for (int64_t size : dimsOf(local.original->getOperand(0)).drop_front(2))
    count *= size;
  local.setInt("count", count);
}

} // namespace apc

// Gradients of convolutions and pools as ops: shapes, rules, local forms.
#include "../Attributes.h"
#include "Convolution.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

using Dims = llvm::SmallVector<int64_t, 8>;

/// The dims of data and weights of the convolution whose gradient `op` is; operands 0 and 1 have the same number of
/// dims.
struct ConvolutionDims {
  Dims data, weights;
};

mlir::FailureOr<ConvolutionDims> readDims(mlir::Operation *op) {
  llvm::ArrayRef<int64_t> first = dimsOf(op->getOperand(0)), second = dimsOf(op->getOperand(1));
  bool isOfData = llvm::isa<ConvInputGradOp>(op);
  llvm::ArrayRef<int64_t> space = intsAttribute(op, isOfData ? "data_shape" : "kernel_shape");
  int64_t groups = intAttribute(op, "group", 1);
  if (first.size() < 3 || second.size() != first.size() || space.size() + 2 != first.size())
    return op->emitOpError() << "operands " << printDims(first) << " and " << printDims(second) << " and "
                             << space.size() << " sizes in space do not have the same number of dims, at least 3",
           mlir::failure();
  if (groups < 1 || groups >= int64_t(1) << 31)
    return op->emitOpError() << "'group' is " << groups << "; at least 1 and less than 2^31 is needed", mlir::failure();
  ConvolutionDims dims;
  if (isOfData) {
    dims.weights.assign(second.begin(), second.end());
    dims.data = {first[0], mergedSize({second[1], groups})};
    dims.data.append(space.begin(), space.end());
  } else {
    dims.data.assign(first.begin(), first.end());
    dims.weights = {second[1], first[1] / groups};
    dims.weights.append(space.begin(), space.end());
  }
  return dims;
}

ConvolutionForm gradientForm() {
  ConvolutionForm form;
  form.bias = ~0U;
  return form;
}

} // namespace

mlir::FailureOr<ConvolutionSizes> readConvolutionGradient(mlir::Operation *op) {
  auto dims = readDims(op);
  if (mlir::failed(dims))
    return mlir::failure();
  auto sizes = readConvolution(op, gradientForm(), dims->data, dims->weights);
  if (mlir::failed(sizes) || mlir::failed(checkDims(op, llvm::isa<ConvInputGradOp>(op) ? 0 : 1, sizes->resultDims())))
    return mlir::failure();
  return sizes;
}

mlir::LogicalResult inferConvolutionGradient(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto dims = readDims(op);
  if (mlir::failed(dims) || mlir::failed(readConvolutionGradient(op)))
    return mlir::failure();
  return addType(op, llvm::isa<ConvInputGradOp>(op) ? dims->data : dims->weights, operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> convolutionGradientRule(mlir::Operation *op) {
  auto sizes = readConvolutionGradient(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  ConvolutionFactors factors = addFactors(builder, *sizes, gradientForm());
  bool isOfData = llvm::isa<ConvInputGradOp>(op);
  addOperand(builder, op->getOperand(0), isOfData ? factors.result : factors.data);
  addOperand(builder, op->getOperand(1), isOfData ? factors.weights : factors.result);
  addResult(builder, op->getResult(0), isOfData ? factors.data : factors.weights);
  builder.addLinear({isOfData ? 0U : 1U});
  builder.setWork(Work::Contraction);
  FactorRule rule = builder.take();
  rule.isConvolution = true;
  setFlops(rule, convolutionFlops(*sizes, /*transposed=*/false));
  return rule;
}

void localizeConvolutionGradient(LocalOp &local) {
  local.scaleInt("group", "g");
  bool isOfData = llvm::isa<ConvInputGradOp>(local.original);
  local.attributes.set(isOfData ? "data_shape" : "kernel_shape",
                       local.builder.getDenseI64ArrayAttr(local.resultDims(0).drop_front(2)));
}

mlir::FailureOr<llvm::SmallVector<WindowDim, 3>> readPoolGradient(mlir::Operation *op) {
  Dims data(dimsOf(op->getOperand(0)));
  if (op->getNumOperands() > 1)
    data.assign(dimsOf(op->getOperand(1)).begin(), dimsOf(op->getOperand(1)).end());
  else if (data.size() > 2)
    data.truncate(2), llvm::append_range(data, intsAttribute(op, "data_shape"));
  auto windows = readPool(op, data);
  if (mlir::failed(windows))
    return mlir::failure();
  Dims expected(llvm::ArrayRef(data).take_front(2));
  for (const WindowDim &window : *windows)
    expected.push_back(window.output);
  if (mlir::failed(checkDims(op, 0, expected)))
    return mlir::failure();
  return windows;
}

mlir::LogicalResult inferPoolGradient(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto windows = readPoolGradient(op);
  if (mlir::failed(windows))
    return mlir::failure();
  Dims dims(dimsOf(op->getOperand(0)).take_front(2));
  for (const WindowDim &window : *windows)
    dims.push_back(window.input);
  return addType(op, dims, operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> poolGradientRule(mlir::Operation *op) {
  auto windows = readPoolGradient(op);
  if (mlir::failed(windows))
    return mlir::failure();
  FactorRuleBuilder builder;
  llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(0));
  FactorId batch = builder.addFactor("n", dims[0]), channels = builder.addFactor("c", dims[1]);
  llvm::SmallVector<DimFactors, 4> pooled = {{batch}, {channels}}, data = pooled;
  double flops = double(shapeOf(op->getOperand(0))->numElements());
  for (auto [index, window] : llvm::enumerate(*windows)) {
    WindowFactors dim =
        addWindowFactors(builder, window, index, /*mayCutWindow=*/false, Combiner::Sum, /*hasWeights=*/false);
    pooled.push_back(dim.output);
    data.push_back(dim.input);
    flops *= double(window.kernel);
  }
  addOperand(builder, op->getOperand(0), pooled);
  if (op->getNumOperands() > 1)
    addOperand(builder, op->getOperand(1), data);
  addResult(builder, op->getResult(0), data);
  builder.addLinear({0});
  FactorRule rule = builder.take();
  setFlops(rule, flops);
  return rule;
}

} // namespace apc

// Quantisation: where scales stand, and the types that follow.
#include "Quantization.h"

#include "../Attributes.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

mlir::FailureOr<Scales> readBlocks(mlir::Operation *op, unsigned dim, int64_t blockSize) {
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0)), scales = dimsOf(op->getOperand(1));
  bool fits = scales.size() == data.size();
  for (size_t i = 0; fits && i < data.size(); ++i)
    fits = scales[i] == (i == dim ? data[i] / blockSize + (data[i] % blockSize != 0) : data[i]);
  if (!fits)
    return op->emitOpError() << "operand '" << operandName(op, 1) << "' has shape " << printDims(scales)
                             << ", which is not one scale for each block of " << blockSize << " along dim " << dim
                             << " of " << printDims(data),
           mlir::failure();
  return Scales{Granularity::Block, dim, blockSize};
}

} // namespace

mlir::FailureOr<Scales> readScales(mlir::Operation *op) {
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0)), scales = dimsOf(op->getOperand(1));
  int64_t blockSize = intAttribute(op, "block_size", 0);
  if (blockSize < 0)
    return op->emitOpError() << "'block_size' is " << blockSize << "; at least 0 is needed", mlir::failure();
  // A scale [] may come with a zero point [1], and the other way round.
  auto one = [](llvm::ArrayRef<int64_t> dims) { return checkedProduct(dims) == 1; };
  mlir::Value zero = op->getOperand(2);
  if (!isAbsent(zero) && dimsOf(zero) != scales && !(one(dimsOf(zero)) && one(scales)))
    return op->emitOpError() << "operand '" << operandName(op, 2) << "' has shape " << printDims(dimsOf(zero))
                             << " and '" << operandName(op, 1) << "' " << printDims(scales) << "; the same is needed",
           mlir::failure();
  bool oneScale = scales.empty() || (scales.size() == 1 && scales[0] == 1);
  if (oneScale && blockSize == 0)
    return Scales();
  auto dim = normalizeAxis(op, intAttribute(op, "axis", 1), data.size());
  if (mlir::failed(dim))
    return mlir::failure();
  if (blockSize > 0)
    return readBlocks(op, *dim, blockSize);
  if (scales.size() != 1 || scales[0] != data[*dim])
    return op->emitOpError() << "operand '" << operandName(op, 1) << "' has shape " << printDims(scales)
                             << ", which is neither one scale nor one for each of the " << data[*dim]
                             << " indices of dim " << *dim,
           mlir::failure();
  return Scales{Granularity::Dim, *dim, 1};
}

void localizeBlocks(LocalOp &local) {
  auto scales = readScales(local.original);
  if (mlir::failed(scales) || scales->granularity != Granularity::Block)
    return;
  int64_t data = local.operandDims(0)[scales->dim], blocks = local.operandDims(1)[scales->dim];
  // Blocks of 32 that two devices share are blocks of 16 to each.
  if (blocks > 0 && data % blocks == 0 && data / blocks < scales->blockSize)
    local.setInt("block_size", data / blocks);
}

mlir::LogicalResult inferQuantizeLinear(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  if (mlir::failed(readScales(op)))
    return mlir::failure();
  mlir::Type element = mlir::IntegerType::get(op->getContext(), 8, mlir::IntegerType::Unsigned);
  int64_t requested = intAttribute(op, "output_dtype", 0);
  if (!isAbsent(op->getOperand(2))) {
    element = operandElement(op, 2);
  } else if (requested != 0) {
    auto type = requireElementType(op, requested, "output_dtype");
    if (mlir::failed(type))
      return mlir::failure();
    element = *type;
  }
  return addType(op, dimsOf(op->getOperand(0)), element, types);
}

mlir::LogicalResult inferDequantizeLinear(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  if (mlir::failed(readScales(op)))
    return mlir::failure();
  mlir::Type element = operandElement(op, 1);
  if (int64_t requested = intAttribute(op, "output_dtype", 0)) {
    auto type = requireElementType(op, requested, "output_dtype");
    if (mlir::failed(type))
      return mlir::failure();
    element = *type;
  }
  return addType(op, dimsOf(op->getOperand(0)), element, types);
}

mlir::LogicalResult inferScaledGradient(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  if (mlir::failed(readScales(op)))
    return mlir::failure();
  return addType(op, dimsOf(op->getOperand(0)), operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> ruleScaled(mlir::Operation *op) {
  auto scales = readScales(op);
  if (mlir::failed(scales))
    return mlir::failure();
  FactorRuleBuilder builder;
  llvm::SmallVector<DimFactors, 4> data, scale;
  for (auto [dim, size] : llvm::enumerate(dimsOf(op->getOperand(0)))) {
    bool blocked = scales->granularity == Granularity::Block && dim == scales->dim;
    if (blocked && size % scales->blockSize == 0) {
      FactorId block = builder.addFactor("k", size / scales->blockSize);
      data.push_back({block, builder.addFactor("r", scales->blockSize)});
      scale.push_back({block});
    } else if (blocked) {
      data.push_back({builder.addWhole(numbered("d", dim), size)});
      scale.push_back({builder.addWhole("k", dimsOf(op->getOperand(1))[dim])});
    } else {
      data.push_back({builder.addFactor(numbered("d", dim), size)});
      scale.push_back(data.back());
    }
  }
  if (scales->granularity == Granularity::Dim)
    scale = {data[scales->dim]};
  addOperand(builder, op->getOperand(0), data);
  for (unsigned operand : {1, 2}) {
    mlir::Value value = op->getOperand(operand);
    if (scales->granularity == Granularity::Tensor || isAbsent(value) || dimsOf(value).size() != scale.size())
      addReplicated(builder, value);
    else
      addOperand(builder, value, scale);
  }
  if (op->getNumOperands() > 3)
    addOperand(builder, op->getOperand(3), data);
  addResult(builder, op->getResult(0), data);
  FactorRule rule = builder.take();
  if (llvm::isa<QuantizeLinearGradOp>(op))
    rule.linear = {{3}};
  if (llvm::isa<DequantizeLinearGradOp>(op))
    rule.linear = {{0}};
  setFlops(rule, 2.0 * double(shapeOf(op->getResult(0))->numElements()));
  return rule;
}

mlir::FailureOr<FactorRule> DynamicQuantizeLinearOp::getRule() {
  FactorRule rule = RuleBuilder(*this).take(Work::Stream);
  setFlops(rule, 5.0 * double(shapeOf(getX())->numElements()));
  return rule;
}

mlir::LogicalResult DynamicQuantizeLinearOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  mlir::Type quantized = mlir::IntegerType::get(getContext(), 8, mlir::IntegerType::Unsigned);
  types.push_back(mlir::RankedTensorType::get(dimsOf(getX()), quantized));
  types.push_back(mlir::RankedTensorType::get({}, operandElement(*this, 0)));
  types.push_back(mlir::RankedTensorType::get({}, quantized));
  return mlir::success();
}

mlir::LogicalResult inferQLinearGlobalAveragePool(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::SmallVector<int64_t, 5> dims(dimsOf(op->getOperand(0)));
  if (dims.size() < 3)
    return op->emitOpError() << "operand 'X' has " << dims.size()
                             << " dims; batch, channels and at least one spatial dim are needed";
  size_t channels = intAttribute(op, "channels_last", 0) ? dims.size() - 1 : 1;
  for (size_t dim = 1; dim < dims.size(); ++dim)
    if (dim != channels)
      dims[dim] = 1;
  return addType(op, dims, operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> ruleQLinearGlobalAveragePool(mlir::Operation *op) {
  RuleBuilder layout(op);
  llvm::ArrayRef<int64_t> input = dimsOf(op->getOperand(0));
  size_t channels = intAttribute(op, "channels_last", 0) ? input.size() - 1 : 1;
  llvm::SmallVector<DimFactors, 4> data, result;
  for (auto [dim, size] : llvm::enumerate(input)) {
    bool kept = dim == 0 || dim == channels;
    data.push_back(kept ? layout.parallel(size) : layout.whole(size));
    result.push_back(kept ? data.back() : DimFactors());
  }
  layout.setOperand(0, data);
  layout.setResult(0, result);
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, double(shapeOf(op->getOperand(0))->numElements()));
  return rule;
}

} // namespace apc

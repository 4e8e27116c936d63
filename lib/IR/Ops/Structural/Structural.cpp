// Constants, parameters, absent values, the end of a micro-batch: generated code, registration, types and rules.
#include "apc/IR/Apc.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Structural/Structural.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Structural>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Structural/Structural.cpp.inc"
      >();
}

namespace {

/// A rule for an op without operands: each dim of its result is a factor of its own.
FactorRule sourceRule(mlir::Value result) {
  FactorRuleBuilder builder;
  if (auto shape = shapeOf(result))
    builder.addResult(builder.addFactors("d", shape->dims), shape->elementBits);
  else
    builder.addAbsentResult();
  builder.setWork(Work::View);
  return builder.take();
}

void addWhole(FactorRuleBuilder &builder, const std::string &name, mlir::Value value, bool isResult) {
  TensorShape shape = *shapeOf(value);
  llvm::SmallVector<DimFactors, 4> dims;
  for (auto [index, size] : llvm::enumerate(shape.dims))
    dims.push_back({builder.addWhole(name + "d" + std::to_string(index), size)});
  isResult ? builder.addResult(std::move(dims), shape.elementBits)
           : builder.addOperand(std::move(dims), shape.elementBits);
}

} // namespace

mlir::OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

mlir::LogicalResult ConstantOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  types.push_back(getValueAttr().getShapedType());
  return mlir::success();
}

mlir::FailureOr<FactorRule> ConstantOp::getRule() { return sourceRule(getOutput()); }

mlir::LogicalResult ParameterOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  types.push_back(getOutput().getType());
  return mlir::success();
}

mlir::FailureOr<FactorRule> ParameterOp::getRule() { return sourceRule(getOutput()); }

mlir::LogicalResult NoneOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  types.push_back(getOutput().getType());
  return mlir::success();
}

mlir::FailureOr<FactorRule> NoneOp::getRule() { return sourceRule(getOutput()); }

mlir::LogicalResult MicroBatchEndOp::verify() {
  if (getCount() % getCopies() != 0)
    return emitOpError() << "has " << getCount() << " runs, which are no whole number of micro-batches of "
                         << getCopies() << " copies";
  return mlir::success();
}

mlir::LogicalResult GradientOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  size_t numXs = getXs().size(), numGiven = numXs + (getZs() ? getZs()->size() : 0);
  if (numXs == 0)
    return emitOpError() << "attribute 'xs' is empty; the names of one value or more are needed";
  if (getInputs().size() != 2 * numGiven + 1)
    return emitOpError() << "has " << static_cast<int64_t>(getInputs().size()) - static_cast<int64_t>(numGiven) - 1
                         << " inputs; as many as names in 'xs' and 'zs', " << numGiven << ", are needed";
  for (size_t index = 0; index < numGiven; ++index) {
    mlir::Value given = getInputs()[index], named = getInputs()[numGiven + index + (index < numXs ? 0 : 1)];
    if (given.getType() != named.getType())
      return emitOpError() << "input " << index << " is " << given.getType() << ", and the value that it stands for is "
                           << named.getType();
    if (index < numXs)
      types.push_back(given.getType());
  }
  return mlir::success();
}

// Every device makes all of it: it does not stay.
mlir::FailureOr<FactorRule> GradientOp::getRule() {
  FactorRuleBuilder builder;
  for (auto [index, input] : llvm::enumerate(getInputs()))
    addWhole(builder, "i" + std::to_string(index), input, /*isResult=*/false);
  for (auto [index, gradient] : llvm::enumerate(getGradients()))
    addWhole(builder, "g" + std::to_string(index), gradient, /*isResult=*/true);
  return builder.take();
}

} // namespace apc

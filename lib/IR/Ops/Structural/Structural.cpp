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

} // namespace apc

// The cross entropy as ops that devices can share by classes.
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

/// An op of one result, whose type is inferred.
template <typename Op>
mlir::Value make(mlir::OpBuilder &builder, const llvm::Twine &name, mlir::ValueRange operands,
                 llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::OperationState state(mlir::NameLoc::get(builder.getStringAttr(name)), Op::getOperationName());
  state.addOperands(operands);
  state.addAttributes(attributes);
  state.addTypes(builder.getNoneType());
  mlir::Operation *op = builder.create(state);
  llvm::SmallVector<mlir::Type, 1> types;
  bool inferred = mlir::succeeded(llvm::cast<OperatorInterface>(op).inferTypes(types));
  assert(inferred && "the parts of a cross entropy are well formed");
  (void)inferred;
  op->getResult(0).setType(types.front());
  return op->getResult(0);
}

} // namespace

mlir::Value createCrossEntropy(mlir::OpBuilder &builder, llvm::StringRef name, mlir::ValueRange operands,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::Value scores = operands[0];
  mlir::Value axes = ConstantOp::create(builder, scores.getLoc(), builder.getI64TensorAttr({1}));
  mlir::Value logSum = make<LogSumExpOp>(builder, name + ".log_sum", {scores, axes}, {});
  return make<CrossEntropyOp>(builder, name, {scores, logSum, operands[1], operands[2]}, attributes);
}

} // namespace apc

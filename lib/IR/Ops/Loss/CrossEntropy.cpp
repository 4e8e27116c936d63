// The cross entropy as ops that devices can share by classes.
#include "../MakeOp.h"

#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

mlir::Value createCrossEntropy(mlir::OpBuilder &builder, llvm::StringRef name, mlir::ValueRange operands,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::Value scores = operands[0];
  mlir::Value axes = ConstantOp::create(builder, scores.getLoc(), builder.getI64TensorAttr({1}));
  mlir::Value logSum = makeOp<LogSumExpOp>(builder, name + ".log_sum", {scores, axes});
  return makeOp<CrossEntropyOp>(builder, name, {scores, logSum, operands[1], operands[2]}, attributes);
}

} // namespace apc

// The cross entropy as ops that devices can share by classes.
#include "../Attributes.h"
#include "../MakeOp.h"

#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

mlir::Value createCrossEntropy(mlir::OpBuilder &builder, llvm::StringRef name, mlir::ValueRange operands,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes, int64_t axis) {
  mlir::Value scores = operands[0];
  mlir::Value axes = ConstantOp::create(builder, scores.getLoc(), builder.getI64TensorAttr({axis}));
  mlir::Value logSum = makeOp<LogSumExpOp>(builder, name + ".log_sum", {scores, axes});
  llvm::SmallVector<mlir::NamedAttribute, 3> all(attributes);
  all.push_back(builder.getNamedAttr("axis", builder.getI64IntegerAttr(axis)));
  return makeOp<CrossEntropyOp>(builder, name, {scores, logSum, operands[1], operands[2]}, all);
}

int64_t classDim(mlir::Operation *op) { return intAttribute(op, "axis", 1); }

} // namespace apc

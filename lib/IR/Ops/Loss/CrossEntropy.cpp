// The cross entropy as ops that devices can share by classes.
#include "../MakeOp.h"

#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

mlir::Value createCrossEntropy(mlir::OpBuilder &builder, llvm::StringRef name, mlir::ValueRange operands,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::Value scores = operands[0];
  mlir::Value axes = ConstantOp::create(builder, scores.getLoc(), builder.getI64TensorAttr({1}));
  mlir::Value logSum = makeOp<LogSumExpOp>(builder, name + ".log_sum", {scores, axes});
  return makeOp<CrossEntropyOp>(builder, name, {scores, logSum, operands[1], operands[2]}, attributes);
}

mlir::Value withClassesSecond(mlir::OpBuilder &builder, llvm::StringRef name, mlir::Value scores) {
  auto numDims = static_cast<int64_t>(dimsOf(scores).size());
  if (numDims == 2)
    return scores;
  llvm::SmallVector<int64_t, 4> order = {0, numDims - 1};
  for (int64_t dim = 1; dim + 1 < numDims; ++dim)
    order.push_back(dim);
  return makeOp<TransposeOp>(builder, name, scores,
                             builder.getNamedAttr("perm", builder.getDenseI64ArrayAttr(order)));
}

} // namespace apc

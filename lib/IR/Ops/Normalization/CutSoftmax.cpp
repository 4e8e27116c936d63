// A softmax by way of the logarithm of its sum, whose dim devices can share.
#include "../MakeOp.h"

#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include <cmath>

namespace apc {

mlir::Value createSoftmax(mlir::OpBuilder &builder, llvm::StringRef name, mlir::Value input, int64_t axis, bool isLog) {
  mlir::Value axes = ConstantOp::create(builder, input.getLoc(), builder.getI64TensorAttr({axis}));
  mlir::Value logSum = makeOp<LogSumExpOp>(builder, name + ".log_sum", {input, axes});
  return makeOp<SoftmaxByOp>(builder, name, {input, logSum},
                             builder.getNamedAttr("log", builder.getI64IntegerAttr(isLog)));
}

Evaluated evaluateSoftmaxBy(mlir::Operation *op, Operands operands, bool isLog) {
  return evaluatePoints(op, operands, [&](llvm::ArrayRef<Number> x) -> std::optional<Number> {
    double below = x[0].asReal() - x[1].asReal();
    return Number::of(isLog ? below : std::exp(below));
  });
}

Evaluated evaluateSoftmaxSum(mlir::Operation *op, Operands operands) {
  bool hasY = !isAbsent(op->getOperand(1));
  if (!operands[0] || (hasY && !operands[1]))
    return std::nullopt;
  Tensor sum = zeros(op->getResult(0).getType());
  BroadcastWalk walk({sum.dims}, operands[0]->dims);
  for (int64_t i = 0, count = operands[0]->numElements(); i < count; ++i, walk.next())
    sum.floats[walk[0]] += operands[0]->floats[i] * (hasY ? operands[1]->floats[i] : 1);
  return evaluatedAs(std::move(sum));
}

Evaluated evaluateSoftmaxGradientBy(mlir::Operation *op, Operands operands, bool isLog) {
  return evaluatePoints(op, operands, [&](llvm::ArrayRef<Number> x) -> std::optional<Number> {
    double dy = x[0].asReal(), y = x[1].asReal(), sum = x[2].asReal();
    return Number::of(isLog ? dy - std::exp(y) * sum : y * (dy - sum));
  });
}

} // namespace apc

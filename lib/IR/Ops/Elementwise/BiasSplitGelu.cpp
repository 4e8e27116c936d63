// BiasSplitGelu: one half of a row gates the other.
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"

#include "../Attributes.h"
#include "apc/IR/RuleBuilder.h"

#include <cmath>
#include <numbers>

namespace apc {

mlir::LogicalResult BiasSplitGeluOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getX()));
  if (dims.empty() || dims.back() % 2 != 0)
    return emitOpError() << "takes rows of two halves, but X is " << printDims(dims);
  if (mlir::failed(checkDims(*this, 1, {dims.back()})))
    return mlir::failure();
  dims.back() /= 2;
  return addType(*this, dims, operandElement(*this, 0), types);
}

// A row is whole: its halves belong together.
mlir::FailureOr<FactorRule> BiasSplitGeluOp::getRule() {
  RuleBuilder layout(*this);
  llvm::ArrayRef<int64_t> x = dimsOf(getX());
  llvm::SmallVector<DimFactors, 4> data;
  for (int64_t size : x.drop_back())
    data.push_back(layout.parallel(size));
  llvm::SmallVector<DimFactors, 4> result = data;
  data.push_back(layout.whole(x.back()));
  result.push_back(layout.whole(x.back() / 2));
  layout.setOperand(0, data);
  layout.setResult(0, result);
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, 11 * static_cast<double>(shapeOf(getY())->numElements()));
  return rule;
}

Evaluated BiasSplitGeluOp::evaluate(Operands operands) {
  if (!operands[0] || !operands[1])
    return std::nullopt;
  Tensor result = zeros(getY().getType());
  int64_t half = result.dims.back();
  for (int64_t at = 0, count = result.numElements(); at < count; ++at) {
    int64_t row = at / half, column = at % half;
    double value = operands[0]->floats[row * 2 * half + column] + operands[1]->floats[column];
    double gate = operands[0]->floats[(row * 2 + 1) * half + column] + operands[1]->floats[half + column];
    result.floats[at] = value * gate * 0.5 * (1 + std::erf(gate / std::numbers::sqrt2));
  }
  return evaluatedAs(std::move(result));
}

// y = value gelu(gate): dvalue = dy gelu(gate), dgate = dy value gelu'(gate), one behind the other.
bool BiasSplitGeluOp::differentiate(GradientBuilder &g) {
  mlir::Value x = g.add(g.operand(0), g.operand(1));
  auto last = static_cast<int64_t>(dimsOf(x).size()) - 1;
  int64_t half = dimsOf(x).back() / 2;
  auto part = [&](int64_t begin) {
    return g.make<SliceOp>({x, g.integers({begin}), g.integers({begin + half}), g.integers({last}), g.absent()});
  };
  mlir::Value value = part(0), gate = part(half);
  mlir::Value ofValue = g.mul(g.incoming(), g.make<GeluOp>({gate}));
  mlir::Value ofGate = g.make<GeluGradOp>({g.mul(g.incoming(), value), gate});
  mlir::Value ofBoth = g.make<ConcatOp>({ofValue, ofGate}, g.attribute("axis", last));
  g.give(0, ofBoth);
  if (g.wants(1))
    g.give(1, g.sumTo(ofBoth, g.operand(1)));
  return true;
}

} // namespace apc

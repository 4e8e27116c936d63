// Gradients of quantisation: straight through, as for numbers that are not rounded.
#include "Quantization.h"

#include "apc/IR/Gradient.h"

namespace apc {

namespace {

/// The least and the greatest number of `element`.
std::pair<double, double> rangeOf(mlir::Type element) {
  if (auto type = llvm::dyn_cast<mlir::FloatType>(element)) {
    double most = llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
    return {-most, most};
  }
  constexpr double beyond = 1e30; // more than any integer type holds
  return {static_cast<double>(saturated(-beyond, element)), static_cast<double>(saturated(beyond, element))};
}

} // namespace

bool isFloat(mlir::Value value) {
  return !isAbsent(value) && llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(value));
}

bool mayHaveGradient(mlir::Value value) {
  return isFloat(value) || llvm::isa_and_present<QuantizeLinearOp>(value.getDefiningOp());
}

bool takesGradient(mlir::OpOperand &operand) {
  return isFloat(operand.get()) || llvm::isa<DequantizeLinearOp>(operand.getOwner());
}

void differentiateQuantized(GradientBuilder &g) {
  auto op = llvm::cast<QuantizeLinearOp>(g.getForward());
  if (!g.incoming() || !g.wants(0))
    return;
  auto [least, most] = rangeOf(mlir::getElementTypeOrSelf(op.getY()));
  mlir::Builder &builder = g.getBuilder();
  g.give(0, g.make<QuantizeLinearGradOp>(
                {op.getX(), op.getYScale(), op.getYZeroPoint(), g.incoming()},
                {g.attribute("axis", op.getAxis()), g.attribute("block_size", op.getBlockSize()),
                 g.attribute("precision", op.getPrecision()), g.attribute("least", builder.getF64FloatAttr(least)),
                 g.attribute("most", builder.getF64FloatAttr(most))}));
}

void differentiateDequantized(GradientBuilder &g) {
  auto op = llvm::cast<DequantizeLinearOp>(g.getForward());
  if (g.incoming() && g.wants(0))
    g.give(0, g.make<DequantizeLinearGradOp>(
                  {g.incoming(), op.getXScale(), g.absent()},
                  {g.attribute("axis", op.getAxis()), g.attribute("block_size", op.getBlockSize())}));
}

} // namespace apc

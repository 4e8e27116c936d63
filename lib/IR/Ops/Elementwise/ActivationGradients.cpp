// Gradients of activations and Clip. Choices at kinks are PyTorch's.
#include "apc/IR/Ops/Elementwise/Elementwise.h"

#include <numbers>

namespace apc {

namespace {

using mlir::Value;

/// Gives the gradient of operand 0 by one op that reads what arrives and `kept`.
template <typename Op>
bool giveBy(GradientBuilder &g, Value kept, llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  g.give(0, g.make<Op>({g.incoming(), kept}, attributes));
  return true;
}

double normalDensity(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }

} // namespace

double erfSlope(double x) { return 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x); }

double geluSlope(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * normalDensity(x); }

double geluByTanhSlope(double x) {
  static const double scale = std::sqrt(2 / std::numbers::pi);
  constexpr double cubic = 0.044715;
  double t = std::tanh(scale * (x + cubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * scale * (1 + 3 * cubic * x * x);
}

// y = x tanh(softplus(x)), and softplus' is sigmoid.
double mishSlope(double x) {
  double t = std::tanh(softplus(x));
  return t + x * (1 - t * t) * sigmoid(x);
}

double swishSlope(double x, double alpha) {
  double s = sigmoid(alpha * x);
  return s * (1 + alpha * x * (1 - s));
}

double hardSwishSlope(double x) {
  constexpr double bound = 3;
  return x <= -bound ? 0 : x < bound ? x / bound + 0.5 : 1;
}

Evaluated evaluateSlope(mlir::Operation *op, Operands operands, llvm::function_ref<double(double)> slope) {
  return evaluatePoints(op, operands, [&](llvm::ArrayRef<Number> numbers) {
    return std::optional(Number::of(numbers[0].asReal() * slope(numbers[1].asReal())));
  });
}

// The slope is 1 over the normal density at the result.
bool ProbitOp::differentiate(GradientBuilder &g) {
  Value y = g.result(), half = g.mul(g.mul(y, y), g.scalar(0.5, y));
  Value slope = g.mul(g.make<ExpOp>({half}), g.scalar(std::sqrt(2 * std::numbers::pi), y));
  g.give(0, g.mul(g.incoming(), slope));
  return true;
}

bool SigmoidOp::differentiate(GradientBuilder &g) { return giveBy<SigmoidGradOp>(g, g.result()); }
bool TanhOp::differentiate(GradientBuilder &g) { return giveBy<TanhGradOp>(g, g.result()); }
bool MishOp::differentiate(GradientBuilder &g) { return giveBy<MishGradOp>(g, g.operand(0)); }
bool HardSwishOp::differentiate(GradientBuilder &g) { return giveBy<HardSwishGradOp>(g, g.operand(0)); }
// y > 0 where x > 0: the result, which the next op reads as well, serves.
bool ReluOp::differentiate(GradientBuilder &g) { return giveBy<ReluGradOp>(g, g.result()); }

bool SoftplusOp::differentiate(GradientBuilder &g) {
  g.give(0, g.mul(g.incoming(), g.make<SigmoidOp>({g.operand(0)})));
  return true;
}

// 1 / (1 + |x|)^2.
bool SoftsignOp::differentiate(GradientBuilder &g) {
  Value size = g.make<AbsOp>({g.operand(0)}), base = g.add(size, g.scalar(1, size));
  g.give(0, g.div(g.incoming(), g.mul(base, base)));
  return true;
}

bool EluOp::differentiate(GradientBuilder &g) {
  return giveBy<EluGradOp>(g, g.operand(0), g.attribute("alpha", getAlphaAttr()));
}

bool SeluOp::differentiate(GradientBuilder &g) {
  return giveBy<EluGradOp>(g, g.operand(0),
                           {g.attribute("alpha", getAlphaAttr()), g.attribute("scale", getGammaAttr())});
}

// 1 where x > 0, exp(x / alpha) elsewhere.
bool CeluOp::differentiate(GradientBuilder &g) {
  Value x = g.operand(0), ratio = g.div(x, g.scalar(real(getAlpha()), x));
  Value slope = g.make<ExpOp>({g.make<MinOp>({ratio, g.scalar(0, x)})});
  g.give(0, g.mul(g.incoming(), slope));
  return true;
}

// The sign of the result is that of x, unless alpha is negative.
bool LeakyReluOp::differentiate(GradientBuilder &g) {
  return giveBy<LeakyReluGradOp>(g, real(getAlpha()) > 0 ? g.result() : g.operand(0),
                                 g.attribute("alpha", getAlphaAttr()));
}

bool ThresholdedReluOp::differentiate(GradientBuilder &g) {
  Value x = g.operand(0);
  g.give(0, g.where(g.make<GreaterOp>({x, g.scalar(real(getAlpha()), x)}), g.incoming()));
  return true;
}

bool HardSigmoidOp::differentiate(GradientBuilder &g) {
  return giveBy<HardSigmoidGradOp>(g, g.operand(0),
                                   {g.attribute("alpha", getAlphaAttr()), g.attribute("beta", getBetaAttr())});
}

bool ShrinkOp::differentiate(GradientBuilder &g) {
  Value size = g.make<AbsOp>({g.operand(0)});
  g.give(0, g.where(g.make<GreaterOp>({size, g.scalar(real(getLambd()), size)}), g.incoming()));
  return true;
}

bool GeluOp::differentiate(GradientBuilder &g) {
  return giveBy<GeluGradOp>(g, g.operand(0), g.attribute("approximate", getApproximateAttr()));
}

bool SwishOp::differentiate(GradientBuilder &g) {
  return giveBy<SwishGradOp>(g, g.operand(0), g.attribute("alpha", getAlphaAttr()));
}

bool QuickGeluOp::differentiate(GradientBuilder &g) {
  return giveBy<SwishGradOp>(g, g.operand(0), g.attribute("alpha", getAlphaAttr()));
}

/// Of GELU of x + bias along the last dim.
static bool giveBiased(GradientBuilder &g, llvm::StringRef approximate) {
  bool hasBias = !isAbsent(g.operand(1));
  Value x = hasBias ? g.add(g.operand(0), g.operand(1)) : g.operand(0);
  Value gradient = g.make<GeluGradOp>({g.incoming(), x}, g.attribute("approximate", approximate));
  g.give(0, gradient);
  if (hasBias && g.wants(1))
    g.give(1, g.sumTo(gradient, g.operand(1)));
  return true;
}

bool FastGeluOp::differentiate(GradientBuilder &g) { return giveBiased(g, "tanh"); }
bool BiasGeluOp::differentiate(GradientBuilder &g) { return giveBiased(g, "none"); }

// Bounds are taken for constants.
bool ClipOp::differentiate(GradientBuilder &g) {
  if (g.wants(0))
    g.give(0, g.make<ClipGradOp>({g.incoming(), g.operand(0), g.operand(1), g.operand(2)}));
  return true;
}

Evaluated ClipGradOp::evaluate(Operands operands) {
  auto bound = [&](Value value, const Tensor *tensor, double none) -> std::optional<double> {
    if (isAbsent(value))
      return none;
    return tensor && tensor->numElements() == 1 ? std::optional(getElement(*tensor, 0).asReal()) : std::nullopt;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto low = bound(getMin(), operands[2], -infinity), high = bound(getMax(), operands[3], infinity);
  if (!low || !high)
    return std::nullopt;
  return evaluatePoints(*this, operands.take_front(2), [&](llvm::ArrayRef<Number> numbers) {
    double x = numbers[1].asReal();
    return std::optional(Number::of(x >= *low && x <= *high ? numbers[0].asReal() : 0.0));
  });
}

} // namespace apc

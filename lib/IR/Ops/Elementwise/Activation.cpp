// Activations by name.
#include "Activation.h"

#include "apc/IR/Ops/Elementwise/Elementwise.h"

#include "llvm/ADT/StringSwitch.h"

namespace apc {

namespace {

enum class Kind {
  Unknown,
  Identity,
  Relu,
  LeakyRelu,
  ThresholdedRelu,
  Tanh,
  ScaledTanh,
  Sigmoid,
  HardSigmoid,
  Silu,
  Gelu,
  FastGelu,
  Elu,
  Selu,
  Softplus,
  Softsign,
  Affine,
  Clip
};

Kind kindOf(llvm::StringRef name) {
  return llvm::StringSwitch<Kind>(name.lower())
      .Cases({"", "identity", "none"}, Kind::Identity)
      .Case("relu", Kind::Relu)
      .Case("leakyrelu", Kind::LeakyRelu)
      .Case("thresholdedrelu", Kind::ThresholdedRelu)
      .Case("tanh", Kind::Tanh)
      .Case("scaledtanh", Kind::ScaledTanh)
      .Case("sigmoid", Kind::Sigmoid)
      .Case("hardsigmoid", Kind::HardSigmoid)
      .Cases({"silu", "swish"}, Kind::Silu)
      .Case("gelu", Kind::Gelu)
      .Case("fastgelu", Kind::FastGelu)
      .Case("elu", Kind::Elu)
      .Case("selu", Kind::Selu)
      .Case("softplus", Kind::Softplus)
      .Case("softsign", Kind::Softsign)
      .Case("affine", Kind::Affine)
      .Case("clip", Kind::Clip)
      .Default(Kind::Unknown);
}

constexpr double leak = 0.01, hardSlope = 0.2, hardShift = 0.5;
constexpr double seluAlpha = 1.67326319217681884765625, seluGamma = 1.05070102214813232421875;

double selu(double x, double alpha, double gamma) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); }

} // namespace

std::optional<double> Activation::at(double x) const {
  switch (kindOf(name)) {
  case Kind::Unknown:
    return std::nullopt;
  case Kind::Identity:
    return x;
  case Kind::Relu:
    return greatest(x, 0);
  case Kind::LeakyRelu:
    return x < 0 ? alpha.value_or(leak) * x : x;
  case Kind::ThresholdedRelu:
    return x > alpha.value_or(1) ? x : 0;
  case Kind::Tanh:
    return std::tanh(x);
  case Kind::ScaledTanh:
    return alpha.value_or(1) * std::tanh(beta.value_or(1) * x);
  case Kind::Sigmoid:
    return sigmoid(x);
  case Kind::HardSigmoid:
    return std::clamp(alpha.value_or(hardSlope) * x + beta.value_or(hardShift), 0.0, 1.0);
  case Kind::Silu:
    return x * sigmoid(x);
  case Kind::Gelu:
    return gelu(x);
  case Kind::FastGelu:
    return geluByTanh(x);
  case Kind::Elu:
    return x > 0 ? x : alpha.value_or(1) * std::expm1(x);
  case Kind::Selu:
    return selu(x, alpha.value_or(seluAlpha), gamma.value_or(seluGamma));
  case Kind::Softplus:
    return softplus(x);
  case Kind::Softsign:
    return x / (1 + std::fabs(x));
  case Kind::Affine:
    return alpha.value_or(1) * x + beta.value_or(0);
  case Kind::Clip:
    x = alpha && x < *alpha ? *alpha : x;
    return beta && x > *beta ? *beta : x;
  }
  return std::nullopt;
}

std::optional<double> Activation::slope(double x) const {
  switch (kindOf(name)) {
  case Kind::Relu:
    return x > 0 ? 1 : 0;
  case Kind::LeakyRelu:
    return x < 0 ? alpha.value_or(leak) : 1;
  case Kind::ThresholdedRelu:
    return x > alpha.value_or(1) ? 1 : 0;
  case Kind::Tanh:
    return 1 - std::tanh(x) * std::tanh(x);
  case Kind::ScaledTanh: {
    double inner = std::tanh(beta.value_or(1) * x);
    return alpha.value_or(1) * beta.value_or(1) * (1 - inner * inner);
  }
  case Kind::Sigmoid:
    return sigmoid(x) * (1 - sigmoid(x));
  case Kind::HardSigmoid: {
    double line = alpha.value_or(hardSlope) * x + beta.value_or(hardShift);
    return line > 0 && line < 1 ? alpha.value_or(hardSlope) : 0;
  }
  case Kind::Elu:
    return x > 0 ? 1 : alpha.value_or(1) * std::exp(x);
  case Kind::Softplus:
    return sigmoid(x);
  case Kind::Softsign:
    return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x)));
  case Kind::Affine:
    return alpha.value_or(1);
  default:
    return std::nullopt;
  }
}

namespace {

mlir::NamedAttribute number(GradientBuilder &g, llvm::StringRef name, double value) {
  return g.attribute(name, g.getBuilder().getF32FloatAttr(static_cast<float>(value)));
}

mlir::Value scaled(GradientBuilder &g, mlir::Value value, double factor) {
  return factor == 1 ? value : g.mul(value, g.scalar(factor, value));
}

} // namespace

mlir::Value Activation::make(GradientBuilder &g, mlir::Value x) const {
  switch (kindOf(name)) {
  case Kind::Unknown:
    return {};
  case Kind::Identity:
    return x;
  case Kind::Relu:
    return g.make<ReluOp>({x});
  case Kind::LeakyRelu:
    return g.make<LeakyReluOp>({x}, number(g, "alpha", alpha.value_or(leak)));
  case Kind::ThresholdedRelu:
    return g.make<ThresholdedReluOp>({x}, number(g, "alpha", alpha.value_or(1)));
  case Kind::Tanh:
    return g.make<TanhOp>({x});
  case Kind::ScaledTanh:
    return scaled(g, g.make<TanhOp>({scaled(g, x, beta.value_or(1))}), alpha.value_or(1));
  case Kind::Sigmoid:
    return g.make<SigmoidOp>({x});
  case Kind::HardSigmoid:
    return g.make<HardSigmoidOp>(
        {x}, {number(g, "alpha", alpha.value_or(hardSlope)), number(g, "beta", beta.value_or(hardShift))});
  case Kind::Silu:
    return g.make<SwishOp>({x});
  case Kind::Gelu:
    return g.make<GeluOp>({x});
  case Kind::FastGelu:
    return g.make<GeluOp>({x}, g.attribute("approximate", "tanh"));
  case Kind::Elu:
    return g.make<EluOp>({x}, number(g, "alpha", alpha.value_or(1)));
  case Kind::Selu:
    return g.make<SeluOp>(
        {x}, {number(g, "alpha", alpha.value_or(seluAlpha)), number(g, "gamma", gamma.value_or(seluGamma))});
  case Kind::Softplus:
    return g.make<SoftplusOp>({x});
  case Kind::Softsign:
    return g.make<SoftsignOp>({x});
  case Kind::Affine: {
    mlir::Value line = scaled(g, x, alpha.value_or(1));
    return beta.value_or(0) == 0 ? line : g.add(line, g.scalar(*beta, x));
  }
  case Kind::Clip:
    return g.make<ClipOp>({x, alpha ? g.scalar(*alpha, x) : g.absent(), beta ? g.scalar(*beta, x) : g.absent()});
  }
  return {};
}

mlir::Value Activation::gradient(GradientBuilder &g, mlir::Value arriving, mlir::Value y,
                                 llvm::function_ref<mlir::Value()> x) const {
  switch (kindOf(name)) {
  case Kind::Unknown:
    return {};
  case Kind::Identity:
    return arriving;
  case Kind::Relu:
    return g.make<ReluGradOp>({arriving, y});
  case Kind::LeakyRelu: { // the sign of the result is that of x, unless alpha is negative
    double slope = alpha.value_or(leak);
    return g.make<LeakyReluGradOp>({arriving, slope > 0 ? y : x()}, number(g, "alpha", slope));
  }
  case Kind::ThresholdedRelu: {
    mlir::Value at = x();
    return g.where(g.make<GreaterOp>({at, g.scalar(alpha.value_or(1), at)}), arriving);
  }
  case Kind::Tanh:
    return g.make<TanhGradOp>({arriving, y});
  case Kind::ScaledTanh: {
    mlir::Value inner = g.make<TanhOp>({scaled(g, x(), beta.value_or(1))});
    return g.make<TanhGradOp>({scaled(g, arriving, alpha.value_or(1) * beta.value_or(1)), inner});
  }
  case Kind::Sigmoid:
    return g.make<SigmoidGradOp>({arriving, y});
  case Kind::HardSigmoid:
    return g.make<HardSigmoidGradOp>(
        {arriving, x()}, {number(g, "alpha", alpha.value_or(hardSlope)), number(g, "beta", beta.value_or(hardShift))});
  case Kind::Silu:
    return g.make<SwishGradOp>({arriving, x()});
  case Kind::Gelu:
    return g.make<GeluGradOp>({arriving, x()});
  case Kind::FastGelu:
    return g.make<GeluGradOp>({arriving, x()}, g.attribute("approximate", "tanh"));
  case Kind::Elu:
    return g.make<EluGradOp>({arriving, x()}, number(g, "alpha", alpha.value_or(1)));
  case Kind::Selu:
    return g.make<EluGradOp>({arriving, x()}, {number(g, "alpha", alpha.value_or(seluAlpha)),
                                               number(g, "scale", gamma.value_or(seluGamma))});
  case Kind::Softplus:
    return g.mul(arriving, g.make<SigmoidOp>({x()}));
  case Kind::Softsign: {
    mlir::Value size = g.make<AbsOp>({x()}), base = g.add(size, g.scalar(1, size));
    return g.div(arriving, g.mul(base, base));
  }
  case Kind::Affine:
    return scaled(g, arriving, alpha.value_or(1));
  case Kind::Clip: {
    mlir::Value low = alpha ? g.scalar(*alpha, y) : g.absent(), high = beta ? g.scalar(*beta, y) : g.absent();
    return g.make<ClipGradOp>({arriving, x(), low, high});
  }
  }
  return {};
}

llvm::StringRef knownActivations() {
  return "Identity, Relu, LeakyRelu, ThresholdedRelu, Tanh, ScaledTanh, Sigmoid, HardSigmoid, Silu, Gelu, FastGelu, "
         "Elu, "
         "Selu, Softplus, Softsign, Affine and Clip";
}

bool Activation::takesAlpha() const {
  static constexpr Kind kinds[] = {Kind::LeakyRelu, Kind::ThresholdedRelu, Kind::ScaledTanh, Kind::HardSigmoid,
                                   Kind::Elu,       Kind::Affine};
  return llvm::is_contained(kinds, kindOf(name));
}

bool Activation::takesBeta() const {
  static constexpr Kind kinds[] = {Kind::ScaledTanh, Kind::HardSigmoid, Kind::Affine};
  return llvm::is_contained(kinds, kindOf(name));
}

} // namespace apc

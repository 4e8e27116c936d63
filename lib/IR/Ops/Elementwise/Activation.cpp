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
    return x < 0 ? alpha.value_or(0.01) * x : x;
  case Kind::ThresholdedRelu:
    return x > alpha.value_or(1) ? x : 0;
  case Kind::Tanh:
    return std::tanh(x);
  case Kind::ScaledTanh:
    return alpha.value_or(1) * std::tanh(beta.value_or(1) * x);
  case Kind::Sigmoid:
    return sigmoid(x);
  case Kind::HardSigmoid:
    return std::clamp(alpha.value_or(0.2) * x + beta.value_or(0.5), 0.0, 1.0);
  case Kind::Silu:
    return x * sigmoid(x);
  case Kind::Gelu:
    return gelu(x);
  case Kind::FastGelu:
    return geluByTanh(x);
  case Kind::Elu:
    return x > 0 ? x : alpha.value_or(1) * std::expm1(x);
  case Kind::Selu:
    return selu(x, alpha.value_or(1.67326319217681884765625), gamma.value_or(1.05070102214813232421875));
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
    return x < 0 ? alpha.value_or(0.01) : 1;
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
    double line = alpha.value_or(0.2) * x + beta.value_or(0.5);
    return line > 0 && line < 1 ? alpha.value_or(0.2) : 0;
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

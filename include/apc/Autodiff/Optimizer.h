// Optimizers: how a gradient changes its parameter.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace apc {

enum class OptimizerKind : uint8_t { Sgd, Momentum, Adam, AdamW };

/// One row of the table of optimizers.
struct OptimizerTraits {
  OptimizerKind kind;
  llvm::StringLiteral name;                   ///< "sgd", "momentum", "adam", "adamw"
  llvm::ArrayRef<llvm::StringLiteral> states; ///< without amsgrad: "first", "second"
};

const OptimizerTraits &traitsOf(OptimizerKind kind);
std::optional<OptimizerKind> parseOptimizer(llvm::StringRef name); ///< empty for unknown names
llvm::ArrayRef<OptimizerTraits> allOptimizers();

/// The number that the gradients of a step in f16 are multiplied by, so that small gradients do not vanish: PyTorch's
/// GradScaler. A step with a gradient that is not finite changes no parameter and no state, and does not count as a
/// step.
///
///   dynamic   begins at 65536; doubled after 2000 good steps in a row, halved by a step that is not finite
///   fixed     stays
struct LossScaling {
  std::optional<double> fixed; ///< none: dynamic
};

/// The update of PyTorch's `torch.optim` of the same name, whose defaults these are. With g the gradient, p the
/// parameter and t the number of the step, from 1 on:
///
///   sgd, momentum   g += decay p;  b = g at t = 1, then momentum b + (1 - dampening) g;
///                   p -= rate (g + momentum b if nesterov, else b)                            sgd: momentum is 0
///   adam            g += decay p;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
///                   p -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
///   adamw           p *= 1 - rate decay; then as adam without decay in g (Loshchilov and Hutter 2019)
///   amsgrad         of adam and adamw: max_v = max(max_v, v) takes the place of v in the root (Reddi et al. 2018)
struct Optimizer {
  OptimizerKind kind = OptimizerKind::AdamW;
  double weightDecay = 0;
  double momentum = 0.9, dampening = 0;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  bool amsgrad = false; ///< of adam and adamw
};

/// The states of a parameter, from zeros on, each a tensor of its shape: "momentum" (b); "first" (m), "second" (v) and
/// with amsgrad "greatest" (max_v).
llvm::ArrayRef<llvm::StringLiteral> statesOf(const Optimizer &optimizer);

} // namespace apc

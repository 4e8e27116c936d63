// Activations that attributes of other operators name, as ops that gradients are built from.
#pragma once

#include "apc/IR/Gradient.h"

namespace apc {

struct NamedActivation {
  llvm::StringLiteral name;
  /// y = f(x)
  mlir::Value (*make)(GradientBuilder &g, mlir::Value x);
  /// The gradient of x where `arriving` comes back to y: arriving f'(x).
  mlir::Value (*gradient)(GradientBuilder &g, mlir::Value arriving, mlir::Value x, mlir::Value y);
};

/// The activation of this name, whose case does not matter; null where gradients are not built of it. An empty name is
/// the identity.
const NamedActivation *namedActivation(llvm::StringRef name);

} // namespace apc

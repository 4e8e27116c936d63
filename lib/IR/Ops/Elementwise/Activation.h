// Activations that other operators apply to their results, by ONNX's names.
#pragma once

#include "mlir/IR/Value.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace apc {

class GradientBuilder;

/// The activation that an attribute names, with its parameters (ONNX's defaults where they are not given).
struct Activation {
  llvm::StringRef name;
  std::optional<double> alpha = {}, beta = {}, gamma = {};

  /// The function at x; the name's case does not matter and an empty name is the identity. Empty for names that are
  /// not known.
  std::optional<double> at(double x) const;
  /// The derivative at x; 0 or that of one side at a kink. Known for the functions of recurrent operators alone.
  std::optional<double> slope(double x) const;
  /// The ops of y at x, x itself for the identity; null for names that are not known.
  mlir::Value make(GradientBuilder &g, mlir::Value x) const;
  /// The gradient at the operand x, where `arriving` is that at the result y; null for names that are not known. x is
  /// asked for where y does not do. Choices at kinks are PyTorch's.
  mlir::Value gradient(GradientBuilder &g, mlir::Value arriving, mlir::Value y,
                       llvm::function_ref<mlir::Value()> x) const;
  bool takesAlpha() const;
  bool takesBeta() const;
};

/// The names that activations have, for messages: "Relu, ..., Clip".
llvm::StringRef knownActivations();

} // namespace apc

// Gradients that a model asks for itself, as ops.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Puts the ops of the reverse pass in place of every `gradient` of `main`, ONNX's Gradient, in their order: one that
/// names another's result gives second derivatives. Where the values at which a gradient is taken are not the named
/// ones, the ops between them and `y` are made again from them.
///
///   c = a + b;  d = a c;  gradient(a, b) {xs = [a, b], y = d}   ->   d's gradients: 2 a + b and a
///
/// Errors (input): ops without a gradient between xs and y, all of them.
llvm::Error expandGradients(mlir::func::FuncOp main);

} // namespace apc

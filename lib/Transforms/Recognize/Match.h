// Small matchers for recognising composites: scalars, products, single uses.
#pragma once

#include "apc/IR/Ops/Elementwise/Elementwise.h"

#include "mlir/IR/PatternMatch.h"

namespace apc {

/// The number of a constant whose elements are all equal (a scalar, mostly).
std::optional<double> scalarOf(mlir::Value value);

/// The element type of a tensor.
mlir::Type elementOf(mlir::Value value);

/// Equal to 1e-3 relative: exporters round constants to f16.
bool near(double a, double b);

/// A product taken apart: leaves that are not scalars, and the scalars multiplied. `x * 0.5 * (1 + e)` -> {x, 1 + e},
/// 0.5.
struct Product {
  llvm::SmallVector<mlir::Value, 4> leaves;
  double scalar = 1;
};
/// Follows Mul and Div by a scalar through values of a single use, from `root` (whose own uses do not matter).
Product productOf(mlir::Value root);

/// For `a + c` or `c + a` with a scalar c: the pair; empty otherwise.
std::optional<std::pair<mlir::Value, double>> plusScalar(mlir::Value sum);

/// Looks through one Cast of a single use.
mlir::Value throughCast(mlir::Value value);

/// Carries location and value names of `from` over to `to`, and replaces it.
void replaceBy(mlir::Operation *from, mlir::Operation *to, mlir::RewriterBase &rewriter);

} // namespace apc

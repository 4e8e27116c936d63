// The Elementwise family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Kernels/Evaluate.h"

#include <algorithm>
#include <cmath>

namespace apc {

using LinearGroups = llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2>;

/// `..., ... -> ...`; with `axis` (opsets before 7) B's dims stand at A's from that axis on: A [2,3,4,5], B [3,4], axis
/// 1 gives `a0 a1 a2 a3, a1 a2 -> a0 a1 a2 a3`.
std::string binaryRule(mlir::Operation *op);
/// `..., ... -> ...`; before opset 7 a slope [C] stands at dim 1.
std::string preluRule(mlir::Operation *op, int64_t opset);
/// All operands in one group.
LinearGroups allOperands(mlir::Operation *op);
/// f64 for sums of f64, else f32.
mlir::Type accumulatedElement(mlir::Operation *op);
/// {{0}} where operand 0 and result 0 are floats of 16 bits or more; integers round, which is not linear.
LinearGroups linearOverFloats(mlir::Operation *op);

inline double real(const llvm::APFloat &attribute) { return attribute.convertToDouble(); }
/// log(1 + exp(x)) without overflow.
double softplus(double x);
double gelu(double x);
/// GELU by tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), Hendrycks and Gimpel 2016.
double geluByTanh(double x);
/// The x at which the normal distribution function is `probability`: 0.975 -> 1.96; infinite at 0 and 1, NaN beyond.
double probit(double probability);
/// The greater and the lesser of two; NaN when one of them is.
double greatest(double a, double b);
double least(double a, double b);

// Derivatives at x; of GELU in both forms, Swish with its coefficient.
double erfSlope(double x);
double geluSlope(double x);
double geluByTanhSlope(double x);
double swishSlope(double x, double alpha);
double mishSlope(double x);
double hardSwishSlope(double x);

/// The operands of a binary op with B's dims where `binaryRule` puts them.
class AlignedOperands {
public:
  AlignedOperands(mlir::Operation *op, Operands given);
  AlignedOperands(const AlignedOperands &) = delete;
  AlignedOperands &operator=(const AlignedOperands &) = delete;
  operator Operands() const { return list; }

private:
  Tensor moved;
  llvm::SmallVector<const Tensor *, 2> list;
};

/// `function` of operand 0 and, when it is there, operand 1 added to it.
Evaluated evaluateBiased(mlir::Operation *op, Operands operands, double (*function)(double));
/// Operand 0 times `slope` of operand 1.
Evaluated evaluateSlope(mlir::Operation *op, Operands operands, llvm::function_ref<double(double)> slope);
/// Operand 0 in result 0's element type. Floats of 8 bits or fewer keep within their range when `saturate` (infinity
/// becomes the greatest); `roundMode` ("up", "down", "nearest") is how powers of two are found for f8E8M0FNU. Floats
/// become integers by dropping the fraction, then the bits beyond the width.
Evaluated evaluateCast(mlir::Operation *op, Operands operands, bool saturate, llvm::StringRef roundMode);

/// `..., _, _ -> ...`: bounds of one element each.
mlir::FailureOr<std::string> clipRule(mlir::Operation *op);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Elementwise/Elementwise.h.inc"

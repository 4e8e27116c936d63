// The Quantization family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Localize.h"

namespace apc {

/// How scales (operand 1) spread over the data (operand 0).
enum class Granularity { Tensor, Dim, Block };
struct Scales {
  Granularity granularity = Granularity::Tensor;
  unsigned dim = 0;      ///< Dim and Block: the dim that scales follow
  int64_t blockSize = 1; ///< Block
};
/// Errors at the op where shapes do not fit.
mlir::FailureOr<Scales> readScales(mlir::Operation *op);

mlir::LogicalResult inferQuantizeLinear(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::LogicalResult inferDequantizeLinear(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
/// Shape and element type of the first operand.
mlir::LogicalResult inferScaledGradient(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
/// Elementwise; scale and zero point are whole, or cut with their dim: `d0 d1, d1, d1 -> d0 d1`. Blocks of 32 along dim
/// 1 of [8, 128]: `d0 (k r), d0 k, d0 k -> d0 (k r)` with k=4, r=32. A fourth operand stands as the data does, and what
/// arrives at a gradient is linear.
mlir::FailureOr<FactorRule> ruleScaled(mlir::Operation *op);

/// The block size of the piece where blocks are cut.
void localizeBlocks(LocalOp &local);
/// x / scale, rounded to the type that the division is made in, rounded to even, plus zero point, kept within range.
Evaluated evaluateQuantizeLinear(mlir::Operation *op, Operands operands);
/// (x - zero point) * scale.
Evaluated evaluateDequantizeLinear(mlir::Operation *op, Operands operands);
Evaluated evaluateQuantizeLinearGrad(mlir::Operation *op, Operands operands);
Evaluated evaluateDequantizeLinearGrad(mlir::Operation *op, Operands operands);
/// Straight through: the gradients of x / scale, where codes do not saturate, and of (code - zero point) * scale.
void differentiateQuantized(GradientBuilder &g);
void differentiateDequantized(GradientBuilder &g);
/// A real function of one tensor or of two that broadcast, each with its scale and zero point behind it, quantised by
/// the scale and zero point of the result.
Evaluated evaluateQuantized(mlir::Operation *op, Operands operands, llvm::function_ref<double(double)> function);
Evaluated evaluateQuantized(mlir::Operation *op, Operands operands,
                            llvm::function_ref<double(double, double)> function);

mlir::LogicalResult inferQLinearGlobalAveragePool(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleQLinearGlobalAveragePool(mlir::Operation *op);

/// A scale and a zero point for a whole tensor, or for one of its columns.
struct Affine {
  double scale = 1, zero = 0;

  double real(Number quantized) const { return (quantized.asReal() - zero) * scale; }
  Number quantized(double value, mlir::Type element) const;
};
/// The scale (operand `index`) and the zero point (operand `index` + 1, which may be absent). None where one is not
/// known, or not one number.
std::optional<Affine> affineAt(mlir::Operation *op, Operands operands, unsigned index);

/// The text of Softmax's rule, with scales and zero points whole.
mlir::FailureOr<std::string> qlinearSoftmaxRule(mlir::Operation *op, int64_t axis, int64_t opset);
/// "m !k, _, _, !k n, _, _, n, _, _ -> m n": sums are rounded, so they are whole. B may have a scale for each column.
mlir::FailureOr<std::string> qgemmRule(mlir::Operation *op, bool transposeA, bool transposeB);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Quantization/Quantization.h.inc"

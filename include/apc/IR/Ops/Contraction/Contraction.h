// The Contraction family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"

namespace apc {

/// How FusedMatMul stores one operand: with the last two dims exchanged, with dim 0 taken from before the last dim.
struct StoredTransposed {
  bool matrix = false;
  bool batch = false;
};

/// `m k, k n, n -> m n` with A and B transposed as asked and C's dims aligned at the end; `!k` when `wholeK`.
std::string gemmRule(mlir::Operation *op, bool transposeA, bool transposeB, bool wholeK);
/// `g0 m k, g0 k n -> g0 m n`: A [batch, M, K] is stored [batch, K, M] with `matrix`, [M, batch, K] with `batch`.
std::string fusedMatMulRule(mlir::Operation *op, StoredTransposed a, StoredTransposed b);
/// MatMul with zero points (and scales, bias) that are scalars, [M] and [N], or have K as a unit dim.
std::string matMulIntegerRule(mlir::Operation *op);
std::string matMulIntegerToFloatRule(mlir::Operation *op);
std::string qlinearMatMulRule(mlir::Operation *op);
/// `!... !m !k, k n, n, n, n -> !... !m n`: A is quantised by its range, so it is whole.
std::string dynamicQuantizeMatMulRule(mlir::Operation *op);

/// The product of all operands as the rule says, times `alpha`.
Evaluated evaluateProduct(mlir::Operation *op, Operands operands, double alpha = 1);
/// alpha A B + beta C.
Evaluated evaluateGemm(mlir::Operation *op, Operands operands, double alpha, double beta);
/// (A - zero points) (B - zero points) of MatMulInteger, and scaled with a bias of MatMulIntegerToFloat. On pieces the
/// last operand is where k begins and the attribute `k_size` its whole size.
Evaluated evaluateIntegerProduct(mlir::Operation *op, Operands operands);
Evaluated evaluateScaledIntegerProduct(mlir::Operation *op, Operands operands);
/// Where k is cut unevenly and both matrices have zero points, the op gets an offset.
void localizeIntegerProduct(LocalOp &local);

/// The gradients of a product of all operands times `alpha`, and of alpha A B + beta C: sums of products of the other
/// operands with what arrives. X [b, m, k] W [k, n]: einsum "bmn,bmk->kn" is the gradient of W. Without operand C, C is
/// not asked for. `arriving` comes back to the result of Gemm, or to what stands in front of its activation.
bool differentiateProduct(GradientBuilder &g, double alpha = 1);
bool differentiateGemm(GradientBuilder &g, mlir::Value arriving, double alpha, double beta);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Contraction/Contraction.h.inc"

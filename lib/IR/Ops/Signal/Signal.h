// The Signal family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Gradient.h"

namespace apc {

/// Every dim but the transformed one and the last is parallel; 5 n log2 n FLOPs for each transform of n points.
mlir::LogicalResult inferDft(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleDft(mlir::Operation *op);

/// A Fourier transform as its shapes and constants say it; errors are emitted at the op.
struct Dft {
  unsigned dim = 0;
  int64_t length = 1; ///< points of the transform
  int64_t output = 1; ///< points of the result
  int64_t parts = 2;  ///< of a point of the result: 1 real, 2 complex
};
mlir::FailureOr<Dft> readDft(mlir::Operation *op);

/// `b !s !c -> b !f !k !z`.
mlir::LogicalResult inferStft(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleStft(mlir::Operation *op);

/// The frames of a signal, of `length` points each, one `step` points behind the other; errors are emitted at the op.
struct Stft {
  int64_t frames = 1, length = 1, bins = 1, step = 1;
};
mlir::FailureOr<Stft> readStft(mlir::Operation *op);

/// `... !m !k -> ...`; 2/3 m^3 FLOPs for each matrix.
mlir::LogicalResult inferDet(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleDet(mlir::Operation *op);
/// `... !m !k -> ... !m !k`; 2 m^3 FLOPs for each matrix.
mlir::LogicalResult inferCofactors(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleCofactors(mlir::Operation *op);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Signal/Signal.h.inc"

// The Signal family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"

namespace apc {

/// Every dim but the transformed one and the last is parallel; 5 n log2 n FLOPs for each transform of n points.
mlir::LogicalResult inferDft(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleDft(mlir::Operation *op);

/// The dim that a DFT is along.
mlir::FailureOr<unsigned> transformedDim(mlir::Operation *op);

/// `b !s !c -> b !f !k !z`.
mlir::LogicalResult inferStft(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleStft(mlir::Operation *op);

/// `... !m !k -> ...`; 2/3 m^3 FLOPs for each matrix.
mlir::LogicalResult inferDet(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleDet(mlir::Operation *op);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Signal/Signal.h.inc"

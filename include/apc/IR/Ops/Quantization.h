// The Quantization family of operators, for the files that say in C++ what its definitions do not.
#pragma once

#include "apc/IR/Apc.h"

namespace apc {

mlir::LogicalResult inferQuantizeLinear(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::LogicalResult inferDequantizeLinear(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
/// Elementwise; scale and zero point are whole, or cut with their dim: `d0 d1, d1, d1 -> d0 d1`. Blocks of 32 along dim
/// 1 of [8, 128]: `d0 (k r), d0 k, d0 k -> d0 (k r)` with k=4, r=32.
mlir::FailureOr<FactorRule> ruleScaled(mlir::Operation *op);

mlir::LogicalResult inferQLinearGlobalAveragePool(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleQLinearGlobalAveragePool(mlir::Operation *op);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Quantization.h.inc"

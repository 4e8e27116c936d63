// The Recurrent family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"

namespace apc {

class GradientBuilder;

enum class Cell : uint8_t { Rnn, Gru, Lstm };

/// `s b i, d g i, d g h, d e, b, d b h -> s d b h, d b h` with batch b and directions d parallel and all else whole;
/// 2 * s * b * d * gates * h * (i + h) FLOPs. On pieces of the directions the first one stands behind the operands.
mlir::LogicalResult inferRecurrent(mlir::Operation *op, Cell cell, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleRecurrent(mlir::Operation *op, Cell cell);
void localizeRecurrent(LocalOp &local);
Evaluated evaluateRecurrent(mlir::Operation *op, Operands operands, Cell cell);
bool differentiateRecurrent(GradientBuilder &g, Cell cell);

/// The same for the backward pass, which has batch and directions in all results; 2 * s * b * d * gates * h * (i + 2 h)
/// FLOPs, the cell's own included.
mlir::LogicalResult inferRecurrentGradient(mlir::Operation *op, Cell cell, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> ruleRecurrentGradient(mlir::Operation *op, Cell cell);
Evaluated evaluateRecurrentGradient(mlir::Operation *op, Operands operands, Cell cell);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Recurrent/Recurrent.h.inc"

// The Loss family of operators (losses and steps of optimizers): its classes and the C++ functions that its definitions
// name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"

namespace apc {

/// For scores [N, C, D] and labels [N, D]: `d0 !d1 d2, d0 d2, _ -> d0 d2, d0 d1 d2` when `reduction` is "none",
/// otherwise `d0 !d1 d2, _, _ -> , _`, where d0 and d2 are whole when the log probabilities are results, too. `mark`
/// stands before the class factor d1. Weights are picked by label, so they are whole.
mlir::FailureOr<std::string> lossRule(mlir::Operation *op, llvm::StringRef reduction, llvm::StringRef mark,
                                      bool givesLogProb);
/// `_, d0 d1, d0, _, d0 d1 -> d0 d1`; the labels are whole when the loss is a mean.
mlir::FailureOr<std::string> lossGradientRule(mlir::Operation *op);

/// `d0 d1, d0 1, d0, _ -> d0` when the reduction is "none", otherwise `d0 d1, d0 1, _, _ -> `.
mlir::FailureOr<std::string> crossEntropyRule(mlir::Operation *op);
/// `_, d0 d1, d0 1, _, _ -> d0 d1`, or `d0, d0 d1, d0 1, d0, _ -> d0 d1` when the reduction is "none"; without `d0 1`
/// where no softmax is taken.
mlir::FailureOr<std::string> crossEntropyGradientRule(mlir::Operation *op, bool takesSoftmax);

/// The ops `log_sum_exp` and `cross_entropy` that make what `softmax_cross_entropy_loss` makes of scores, labels and
/// weights; returns the loss. `name` is the op's, from which that of the first follows; `attributes` are those of both
/// losses.
mlir::Value createCrossEntropy(mlir::OpBuilder &builder, llvm::StringRef name, mlir::ValueRange operands,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes);

/// Scores [B, S, C] as losses take them, [B, C, S]; those of two dims as they are. Flattened to rows [B * S, C] they
/// could not be cut along S, as a cut of the rows along S is one inside each of B parts. `name` is that of the
/// transposition. Scores have two dims or more.
mlir::Value withClassesSecond(mlir::OpBuilder &builder, llvm::StringRef name, mlir::Value scores);

/// A loss that is added up over pieces, or whose classes are cut, gets offsets; so does its gradient.
void localizeLoss(LocalOp &local, unsigned scores = 0);
/// The same for the gradient that reads log probabilities, whose labels are whole for a mean alone.
void localizeLossGradient(LocalOp &local);

/// Operands: scores, labels, weights, and offsets where the scores are a piece.
Evaluated evaluateLoss(mlir::Operation *op, Operands operands, bool takesSoftmax);
/// Operands: dY, log probabilities, labels, weights, bias (added to the gradient), and offsets.
Evaluated evaluateLossGradient(mlir::Operation *op, Operands operands);
/// Operands: scores, log_sum, labels, weights, and offsets where the scores are a piece.
Evaluated evaluateCrossEntropy(mlir::Operation *op, Operands operands);
/// Operands: dY, scores, log_sum where a softmax is taken, labels, weights, and offsets where the scores are a piece.
Evaluated evaluateCrossEntropyGradient(mlir::Operation *op, Operands operands, bool takesSoftmax);

void differentiateCrossEntropy(GradientBuilder &g);
void differentiateSoftmaxCrossEntropy(GradientBuilder &g);
void differentiateLogLikelihood(GradientBuilder &g);

/// Steps of optimizers with `states` states for each tensor. For X [2, 3] and H [2, 3] of Adagrad:
/// `_, _, d0 d1, d0 d1, d0 d1 -> d0 d1, d0 d1`. Errors at the op: a number of operands that does not fit, or shapes of
/// value, gradient and states that differ.
mlir::LogicalResult inferOptimizer(mlir::Operation *op, unsigned states, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> optimizerRule(mlir::Operation *op, unsigned states);

/// Types of the results of a step of one parameter: those of what they take the place of; `none` without a master.
mlir::LogicalResult inferUpdate(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Loss/Loss.h.inc"

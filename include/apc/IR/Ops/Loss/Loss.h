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
/// losses. Classes are dim `axis` of the scores: [B, S, C] with labels [B, S] may be cut along S, where flattened to
/// rows [B * S, C] each of B parts would have to be cut.
mlir::Value createCrossEntropy(mlir::OpBuilder &builder, llvm::StringRef name, mlir::ValueRange operands,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes, int64_t axis = 1);

/// The dim of the scores that counts classes: `axis`, or 1 for the losses of ONNX.
int64_t classDim(mlir::Operation *op);

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

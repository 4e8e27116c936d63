// The Normalization family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Localize.h"
#include "apc/IR/Ops/Normalization/Kernels.h"

namespace apc {

/// `d0 d1 !d2 -> d0 d1 d2`; before opset 13 all dims from `axis` on are whole.
mlir::FailureOr<std::string> softmaxRule(mlir::Operation *op, std::optional<int64_t> axis, int64_t opset);
/// `d0 d1 !d2, d0 d1 !d2 -> d0 d1 d2`.
mlir::FailureOr<std::string> softmaxGradientRule(mlir::Operation *op, std::optional<int64_t> axis, int64_t opset);
/// `d0 d1, d0 d1 -> d0 1` along dim 1.
mlir::FailureOr<std::string> softmaxSumRule(mlir::Operation *op, int64_t axis);
/// `d0 d1 !d2, d0 d1 !d2 -> d2`.
mlir::FailureOr<std::string> layerScaleGradientRule(mlir::Operation *op, int64_t axis);
/// `d0 d1 !d2, d2, d2 -> d0 d1 d2, d0 d1 1, d0 d1 1`: whole from `axis` on, parameters aligned at the end.
mlir::FailureOr<std::string> layerRule(mlir::Operation *op, int64_t axis, unsigned numStatistics);
/// The same over the last dim, for operands that are added to the first (as many dims, or aligned at the end).
mlir::FailureOr<std::string> skipLayerRule(mlir::Operation *op);
/// `d0 d1 d2, d0 d1 !n, d2 -> d0 d1 d2`: may be cut from `axis` on, too. `statistics`: the operands with n numbers for
/// each row.
mlir::FailureOr<std::string> layerPartRule(mlir::Operation *op, llvm::ArrayRef<unsigned> statistics, int64_t axis,
                                           unsigned numResults);
/// `d0 d1 d2, d0 d1 d2, d0 d1 !n -> d2`.
mlir::FailureOr<std::string> layerPartScaleRule(mlir::Operation *op, int64_t axis);
/// `d0 d1 d2, ... -> d0 d1 !n`: n numbers for each row, made with `flops` of each element. `statistics`: the operand
/// that has n numbers for each row, too.
mlir::LogicalResult inferLayerStatistics(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> layerStatisticsRule(mlir::Operation *op, std::optional<unsigned> statistics, double flops);
/// Sets the number of elements of a whole row.
void localizeLayerStatistics(LocalOp &local);
/// Statistics are f32.
llvm::SmallVector<mlir::Type, 4> skipLayerElements(mlir::Operation *op);
/// `d0 d1 d2, d1, d1, d1, d1 -> d0 d1 d2, d1, d1, d1, d1`; `!d0` and `!d2` in training.
std::string batchRule(mlir::Operation *op, bool training, bool spatial);
/// `d0 d1 d2, d1, d1 -> d0 d1 d2`: operands `data` have the dims of operand 0, the others one element for each channel.
/// `sums`: the result has, too, `d0 d1 d2, d1 -> d1`.
mlir::FailureOr<std::string> channelRule(mlir::Operation *op, llvm::ArrayRef<unsigned> data, bool sums);
mlir::FailureOr<std::string> instanceRule(mlir::Operation *op);
/// The named dims whole, the others parallel.
mlir::FailureOr<std::string> wholeRule(mlir::Operation *op, llvm::ArrayRef<int64_t> axes);

/// `training_mode`, or, before opset 14, results after the first without `is_test`.
bool isBatchTraining(mlir::Operation *op);

enum class SoftmaxKind { Plain, Log, Hard };
/// Before opset 13 all dims from `axis` on are one.
Evaluated evaluateSoftmax(mlir::Operation *op, Operands operands, SoftmaxKind kind, std::optional<int64_t> axis,
                          int64_t opset);
/// Operands: the gradient of the result, the result.
Evaluated evaluateSoftmaxGradient(mlir::Operation *op, Operands operands, SoftmaxKind kind, std::optional<int64_t> axis,
                                  int64_t opset);
/// Operands: input, log_sum. Operands of the gradients: dY, Y, and the sum.
Evaluated evaluateSoftmaxBy(mlir::Operation *op, Operands operands, bool isLog);
Evaluated evaluateSoftmaxSum(mlir::Operation *op, Operands operands);
Evaluated evaluateSoftmaxGradientBy(mlir::Operation *op, Operands operands, bool isLog);
/// The ops `log_sum_exp` and `softmax_by` that make the softmax of a value over `axis`, or its logarithm; returns the
/// softmax. `name` is the op's, from which that of the first follows.
mlir::Value createSoftmax(mlir::OpBuilder &builder, llvm::StringRef name, mlir::Value input, int64_t axis, bool isLog);
/// The dim of a softmax over one dim: before opset 13 all dims from `axis` on count as one.
std::optional<unsigned> softmaxDim(mlir::Operation *op);

/// Replaces a softmax over one dim, an attention or a normalisation by ops that devices can share along the dims that
/// it reduces: one that takes its statistics, mostly in the same pass (`passAttribute`), and those that do the rest,
/// the last of which it returns. Null, and nothing is changed: the op is of another kind, or its statistics are results
/// that are read.
///
///   layer_normalization(x, scale, b)  ->  s = layer_statistics(x); layer_normalize(x, s, scale, b)
///   group_normalization(x, scale, b)  ->  the same of x with its groups as a dim
///   lp_normalization(x)               ->  x / sqrt(reduce_sum_square(x))
mlir::Operation *takeApart(mlir::OpBuilder &builder, mlir::Operation *op);
/// False where `takeApart` gives null.
bool mayTakeApart(mlir::Operation *op);
/// Does the op have a gradient in parts alone?
bool isTrainedApart(mlir::Operation *op);
/// Are these the statistics that such an op takes?
bool isTakenInPass(mlir::Value statistics);

/// The groups of a piece are those of its channels.
void localizeGroups(LocalOp &local);

/// Sets the number of elements of a channel of the whole.
void localizeBatchGradient(LocalOp &local);

/// From the results: y (g - sum of g y), or of the logarithm g - exp(y) (sum of g).
void differentiateSoftmax(GradientBuilder &g, SoftmaxKind kind);
/// The same for the softmax by way of its logarithmic sum.
void differentiateSoftmaxBy(GradientBuilder &g, bool isLog);
/// Gradients of layers, also by way of their statistics, where those are results.
void differentiateLayer(GradientBuilder &g, const LayerNormalization &layer);
/// Of a layer in parts.
void differentiateLayerApart(GradientBuilder &g);
/// Normalised within each group of channels (none: each channel).
bool differentiateGroups(GradientBuilder &g, std::optional<int64_t> groups, const llvm::APFloat &epsilon);
/// With statistics that are constants.
bool differentiateFrozenBatch(GradientBuilder &g, const llvm::APFloat &epsilon);
/// With those of X itself.
void differentiateBatch(GradientBuilder &g, const llvm::APFloat &epsilon);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Normalization/Normalization.h.inc"

// Losses of micro-batches that add up to the loss of the step.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

/// The loss of one micro-batch as its share of the loss of the step.
struct WeighedLoss {
  mlir::Value loss;
  /// The weight that `loss` has been multiplied by, where it is known at run time only: the sum over micro-batches of
  /// `loss` is divided by the sum of `weight`, which is near 1. Null: the sum of `loss` is the loss of the step.
  mlir::Value weight;
  mlir::Value factor = {}; ///< what the loss of the micro-batch was multiplied by, for `loss`; null: by nothing
};

/// Adds the ops that weigh `loss` to the end of `main`.
///
/// - A mean over labels that count (cross entropy with an index to ignore, or weights of classes): the weight is the
/// sum
///   of their weights over the number of all labels of the step. Two micro-batches of 4 labels, of which 3 and 1 count,
///   have the weights 3/8 and 1/8, and the loss is (3/8 a + 1/8 b) / (4/8).
/// - A sum: as it is.
/// - Any other: over the number of micro-batches.
WeighedLoss weighLoss(mlir::func::FuncOp main, mlir::Value loss, int64_t microBatches);

} // namespace apc

// Losses of micro-batches that add up to the loss of the step.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace apc {

/// The loss of one micro-batch as its share of the loss of the step.
struct WeighedLoss {
  mlir::Value loss;
  /// The share of the micro-batch in the divisor of the loss, where it is known at run time only: the sum over
  /// micro-batches of `loss` is divided by the sum of `weight`. Null: the sum of `loss` is the loss of the step.
  mlir::Value weight;
  mlir::Value factor = {}; ///< what gradients of the micro-batch are multiplied by, where the model holds them
  /// The op from which on the loss of the step does not follow from those of micro-batches; "" where it does.
  std::string unknownSince = {};
};

/// Makes of `loss` the share of a micro-batch, by ops at the end of `main`. Ops that are linear lead back to those that
/// go over samples (`BatchShares`):
///
/// - A sum over samples stays as it is. A mean over them, and a term without samples, such as a norm of weights, is
///   divided by the number of micro-batches. A loss whose terms are all alike is multiplied as a whole, the terms of
///   others on their own.
/// - A mean over labels that count (cross entropy with an index to ignore, or weights of classes) becomes a sum: of two
///   micro-batches of 4 labels, of which 3 and 1 count, the losses are a/8 and b/8, a and b the sums over labels, and
///   the weights 3/8 and 1/8. The step has (a/8 + b/8) / (4/8), also where a micro-batch has no label that counts.
/// - A quotient, such as the mean of a mask, has the share of its numerator as the loss, that of its denominator as the
///   weight.
/// - Any other (the root of a mean, a maximum) is divided by the number of micro-batches, or stays as it is where a sum
///   makes it; `unknownSince` names the op.
WeighedLoss weighLoss(mlir::func::FuncOp main, mlir::Value loss, int64_t microBatches);

/// The same for a loss whose gradients `main` has already: `factor` is what they are multiplied by, as the loss is.
WeighedLoss weighHeldLoss(mlir::func::FuncOp main, mlir::Value loss, int64_t microBatches);

} // namespace apc

// Losses of micro-batches that add up to the loss of the step.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringSet.h"

#include <optional>
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
  std::optional<double> leastWeight = {}; ///< the sum of `weight` is no less in the divisor
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
///   weight. A maximum with a number in the denominator, as in sum / max(count, 1), is taken of the whole count.
/// - Quotients that divide by the same number add up; a term without samples beside them is multiplied by the weight.
/// - Beside quotients that divide by others, and beside sums and means over samples, each quotient is divided by the
///   number of micro-batches, which is exact where all of them count alike; `unknownSince` names the op.
/// - Any other (the root of a mean, a maximum) is divided by the number of micro-batches, or stays as it is where a sum
///   makes it; `unknownSince` names the op.
///
/// `trained` are the names of trained parameters, on which no denominator may depend.
WeighedLoss weighLoss(mlir::func::FuncOp main, mlir::Value loss, int64_t microBatches,
                      const llvm::StringSet<> &trained);

/// The same for a loss whose gradients `main` has already: `factor` is what they are multiplied by, as the loss is.
WeighedLoss weighHeldLoss(mlir::func::FuncOp main, mlir::Value loss, int64_t microBatches);

} // namespace apc

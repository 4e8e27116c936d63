// Losses that divide by what counts in the batch.
#pragma once

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace apc {

/// Is `op` a loss of one score for each label? A cross entropy reads the logarithmic sums of scores before the labels.
bool isLossOfLabels(mlir::Operation *op);
/// Is `op` a mean over labels that may not all count, or that have weights?
bool countsLabels(mlir::Operation *op);
/// The labels of a loss over classes; and the weights of the classes, absent where there are none.
mlir::Value labelsOf(mlir::Operation *op);
mlir::Value classWeightsOf(mlir::Operation *op);
/// Is that the attribute `reduction` of a loss? Its default is "mean".
bool hasReduction(mlir::Operation *op, llvm::StringRef wanted);

/// A denominator that does not become less than a number: of max(sum of a mask, 1), the sum and 1.
struct Clamped {
  mlir::Value value;
  double least;
};

/// Of a denominator that is a maximum with a constant, seen through casts; none for others.
std::optional<Clamped> clampOf(mlir::Value below);

/// Do two quotients, each a division or a mean over labels that count, divide by the same number?
bool divideAlike(mlir::Operation *first, mlir::Operation *second);

} // namespace apc

// Figures by which predictions are judged.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <vector>

namespace apc {

/// A prediction and what was measured, above 0.
struct Compared {
  double predicted = 0, measured = 0;

  double error() const { return predicted / measured - 1; } ///< 3 s for 2 s: 0.5
};

/// The mean of the absolute errors: {3, 2} and {1, 2} -> 0.5. None without pairs.
std::optional<double> meanAbsoluteError(llvm::ArrayRef<Compared> pairs);
/// The mean of the errors: {3, 2} and {1, 2} -> 0.
std::optional<double> bias(llvm::ArrayRef<Compared> pairs);
/// The number below which the share \p q of the numbers lies, linear between neighbours: 0.5 of {1, 2, 4, 8} is 3.
std::optional<double> quantile(std::vector<double> numbers, double q);
/// The quantile of the absolute errors.
std::optional<double> errorQuantile(llvm::ArrayRef<Compared> pairs, double q);
/// Spearman's rank correlation of predicted and measured; equal numbers share the mean of their ranks. None for fewer
/// than two pairs, or where all numbers of one side are equal.
std::optional<double> rankCorrelation(llvm::ArrayRef<Compared> pairs);

/// Predictions that something happens, and whether it did.
struct Outcomes {
  size_t predictedAndTrue = 0, predictedOnly = 0, trueOnly = 0, neither = 0;

  void add(bool predicted, bool happened);
  std::optional<double> precision() const; ///< of those predicted, the share that happened
  std::optional<double> recall() const;    ///< of those that happened, the share that was predicted
};

} // namespace apc

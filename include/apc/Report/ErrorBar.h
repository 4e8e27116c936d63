// How far the measured seconds of a step may lie from the predicted ones, and choices that this leaves open.
#pragma once

#include "apc/Plan/Plan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace apc {

/// Seconds between which four of five measured steps are expected: predicted 1 s, {0.8, 1.25}.
struct ErrorBar {
  double low = 0, high = 0;

  bool overlaps(const ErrorBar &other) const { return low <= other.high && other.low <= high; }
};

/// How many times as long or as short as predicted steps of one kind of layout are.
struct PublishedDistance {
  llvm::StringLiteral kind; ///< "stages": with a pipeline; of the others "tensor": the seconds rest on weights that are
                            ///< cut by columns or rows; "data"
  double distance;
};

/// The distances that 80 % of published steps keep to, each source counting as one (lib/Cost/ACCURACY.md, "interval of
/// 80 % from all sources"). test/Measure/PublishedTest.cpp holds them to that page, and that page to the measurements.
llvm::ArrayRef<PublishedDistance> publishedDistances();

/// The bar of a step that is predicted to take \p seconds, of a training plan with or without a pipeline: 1 / r to r
/// times the prediction, r being the published distance of its kind. A step rests on tensor parallelism where it would
/// lie outside the bar of "data" without: one of 674 ms that would take 678 ms does not. None for inference, of which
/// no measurements are known.
std::optional<ErrorBar> errorBarOf(const Plan &plan, double seconds, bool isPipeline);
std::optional<ErrorBar> errorBarOf(const Plan &plan);

/// "error    0.98 s to 1.47 s: ..."; nothing without a bar.
void printErrorBar(const Plan &plan, llvm::raw_ostream &os);

/// Another choice that may be as fast as a plan's.
struct OpenChoice {
  std::string kind; ///< the choice in which it differs: "no pipeline"
  double stepSeconds = 0;
  ErrorBar own, other;     ///< of the plan, and of the other choice
  std::string measurement; ///< would decide: "a step without a pipeline"
};

/// The nearest of `nextBest` that fits, where its bar and the plan's overlap; none where the choice is certain, or
/// where nothing else is known.
std::optional<OpenChoice> openChoiceOf(const Plan &plan);

/// A paragraph on it: the choice is not certain, and what would decide it; nothing where there is none.
void printOpenChoice(const Plan &plan, llvm::raw_ostream &os);

} // namespace apc

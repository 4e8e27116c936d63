// How far measured seconds lie from predicted ones, from rows of other sources than those that are judged.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

/// A row as calibration has it.
struct Residual {
  std::string source; ///< what is left out as a whole
  std::string kind;   ///< of layout: rows of one kind err alike
  double factor = 1;  ///< measured seconds by predicted: 3 s for 2 s is 1.5
};

/// Factors on predicted seconds between which measured seconds lie. {0.9, 1.2}: 1.8 to 2.4 s where 2 s are predicted.
struct ErrorInterval {
  double low = 1, high = 1;

  bool covers(double factor) const { return low <= factor && factor <= high; }
};

/// The share of measurements that an interval is made to cover.
constexpr double nominalCoverage = 0.8;

/// The interval that covers `nominalCoverage` of the rows of \p kind from other sources than \p leftOut, as much lying
/// below as above it; each source counts as one, however many rows it has. Where fewer than two other sources have the
/// kind, rows of all kinds stand for it. None where there is no other source. The interval of a row does not know the
/// row (split conformal prediction, Lei et al. 2018), but rows of a source err together: coverage is measured, not
/// implied.
std::optional<ErrorInterval> intervalWithout(llvm::ArrayRef<Residual> residuals, llvm::StringRef kind,
                                             llvm::StringRef leftOut);

/// One source, judged by all others.
struct LeftOutSource {
  std::string source;
  size_t rows = 0;
  double error = 0;         ///< mean absolute error of its predictions
  double factor = 1;        ///< the median of the others, each source counting as one
  double factoredError = 0; ///< of its predictions times that factor
  size_t covered = 0;       ///< rows inside the interval of their kind
};

/// Each source by the others, in the order of their first rows; empty with fewer than two sources.
std::vector<LeftOutSource> leaveOutSources(llvm::ArrayRef<Residual> residuals);

/// The share of all rows that are covered by the intervals of sources which are not theirs.
std::optional<double> coverageOf(llvm::ArrayRef<LeftOutSource> sources);

} // namespace apc

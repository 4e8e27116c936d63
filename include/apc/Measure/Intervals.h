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

/// Factors on predicted seconds between which measured seconds lie. {0.8, 1.25}: 1.6 to 2.5 s where 2 s are predicted.
struct ErrorInterval {
  double low = 1, high = 1;

  bool covers(double factor) const { return low <= factor && factor <= high; }
};

/// The share of measurements that an interval is made to cover.
constexpr double nominalCoverage = 0.8;
/// Sources that an interval needs: rows of fewer err too much alike to stand for others.
constexpr size_t leastSources = 4;

/// The interval {1 / r, r} where r is the distance, of measured from predicted seconds as the greater by the less, that
/// `nominalCoverage` of the rows of \p kind from other sources than \p leftOut keep to. Where fewer than `leastSources`
/// other sources have the kind, rows of all kinds stand for it. Without \p leftOut all rows count, also those that name
/// no source, which together make one. None where there is no other source.
///
/// Split conformal prediction (Vovk, Gammerman, Shafer 2005, Algorithmic Learning in a Random World, section 4.1): of n
/// rows the distance of rank (n + 1) * `nominalCoverage`. The distance has no sign, for the sign is what rows of a
/// source share: tails of signed errors would take that of few sources for that of all.
std::optional<ErrorInterval> intervalWithout(llvm::ArrayRef<Residual> residuals, llvm::StringRef kind,
                                             std::optional<llvm::StringRef> leftOut);

/// The interval of a kind from all sources, for rows of none of them.
struct KindInterval {
  std::string kind;
  ErrorInterval interval;
};

/// One for each kind of \p residuals, by name; kinds of fewer than `leastSources` sources have the interval of all.
std::vector<KindInterval> intervalsByKind(llvm::ArrayRef<Residual> residuals);

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
/// The mean of the sources' shares of covered rows: what pooled distributions aim at, each source counting as one.
std::optional<double> meanCoverageOf(llvm::ArrayRef<LeftOutSource> sources);

} // namespace apc

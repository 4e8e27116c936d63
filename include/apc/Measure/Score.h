// Predictions held to measurements: the figures of a table.
#pragma once

#include "apc/Measure/Intervals.h"
#include "apc/Measure/Prediction.h"
#include "apc/Measure/Statistics.h"

#include "llvm/Support/raw_ostream.h"

#include <map>

namespace apc {

/// Rows that are left out for one reason, or for reasons that differ in numbers alone: "known is the H100 with 80 GB,
/// not with 96" and "... not with 64".
struct LeftOutRows {
  size_t rows = 0;
  std::string example;       ///< the reason of the first
  bool areDifferent = false; ///< another has other numbers

  std::string str() const { return example + (areDifferent ? ", and alike" : ""); }
};

/// The rows of one source.
struct SourceScore {
  std::string source;
  size_t rows = 0;
  size_t rowsUsed = 0;                        ///< costed and compared: in time, memory or outcome
  std::map<std::string, LeftOutRows> leftOut; ///< by the reason with its numbers written as N
  std::vector<Compared> times;                ///< seconds of steps
  std::vector<Compared> memory;               ///< bytes at the fullest moment
  std::vector<Compared> boundaries;           ///< bytes between two steps
};

/// The choice among the layouts of one group.
struct LayoutChoice {
  std::string group;
  std::string chosen;  ///< id of the row with the fewest predicted seconds, among those that are predicted to fit
  std::string best;    ///< id of the row with the fewest measured seconds
  double regret = 1;   ///< measured seconds of the one by those of the other: at least 1
  bool ranOut = false; ///< a row of the group that ran out of memory is predicted to fit and to be faster
};

/// The largest batch that ran and the smallest that ran out of memory, everything else being equal.
struct BatchLimit {
  std::string ran, ranOut; ///< ids
  /// How far the limit of a device lies outside the predicted memory of the two, as a share of the limit: limit 76,
  /// predicted 50 and 70: 6 / 76; 0 where it lies between.
  double error = 0;
};

struct Score {
  std::vector<SourceScore> sources;  ///< in the order of their first rows
  std::vector<LayoutChoice> choices; ///< of groups with two costed step times or more
  std::vector<BatchLimit> limits;
  Outcomes outOfMemory;
  std::vector<Residual> residuals; ///< of step times
  size_t rows() const;
  size_t rowsUsed() const;
  std::vector<Compared> times() const;
  std::vector<Compared> memory() const;
  std::vector<Compared> boundaries() const;
};

/// Judges the \p predictions of \p rows, one for each.
Score scoreRows(llvm::ArrayRef<Measurement> rows, llvm::ArrayRef<Prediction> predictions);

/// The tables for people.
void printScore(const Score &score, llvm::raw_ostream &os);
/// One document, shares and not per cent: `rows`, `rows_used`, `time_rows`, `mape`, `bias`, `p90`, `regret_mean`,
/// `regret_worst`, `groups`, `groups_choosing_out_of_memory`, `oom_precision`, `oom_recall`, `memory_rows`,
/// `memory_mape`, `memory_median`, `boundary_memory_rows`, `boundary_memory_median`, `boundary_memory_p90` (errors of
/// what is alive between two steps), `batch_limits`, `batch_limit_median`, `batch_limit_p90`, `interval_coverage` (of
/// rows by intervals from other sources), `interval_coverage_of_sources` (its mean, each source as one), `intervals`
/// [{kind, low, high}] (from all sources), `left_out_sources`
/// [{source, rows, mape, factor, factored_mape, covered}], `sources`
/// [{source, rows, rows_used, time_rows, mape, bias, p90, spearman, memory_rows, memory_mape, left_out {reason:
/// rows}}]. Figures without rows are null.
std::string printScoreJson(const Score &score);
/// A table of comma-separated values with a line for each row: measured, predicted, and of what it is made.
void printRows(llvm::ArrayRef<Measurement> rows, llvm::ArrayRef<Prediction> predictions, llvm::raw_ostream &os);

} // namespace apc

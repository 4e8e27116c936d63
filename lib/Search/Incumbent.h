// The best answer so far, shared by all searches.
#pragma once

#include "apc/Search/Algorithms.h"

#include <optional>

namespace apc {

/// The best assignment found so far, judged by `verify` and `evaluate`.
class Incumbent {
public:
  /// \p cutoffSeconds: the caller has no use for an answer that is not faster.
  explicit Incumbent(const Problem &problem, std::optional<double> cutoffSeconds = std::nullopt)
      : problem(problem), cutoff(cutoffSeconds) {}

  /// Takes `assignment` if it passes `verify` and is faster than the best. Returns its cost.
  Evaluation offer(const Assignment &assignment);
  bool exists() const { return found; }
  double seconds() const { return bestCost.seconds; }
  const Assignment &assignment() const { return best; }
  /// The seconds that a new answer must beat: those of the best answer or the cutoff; empty without either.
  std::optional<double> secondsToBeat() const;
  /// Is a bound within the gap tolerance of the seconds to beat? Sums of thousands of terms agree to about 1e-13.
  bool isReachedBy(double bound, double gapTolerance) const;
  /// Optimal when `bound` reaches the best answer, feasible otherwise. Without an answer the status is `CutOff` or,
  /// when there is no cutoff, `Unknown`.
  SearchResult result(double bound) const;

private:
  bool isNear(double bound, double seconds, double gapTolerance) const;

  const Problem &problem;
  std::optional<double> cutoff;
  bool found = false;
  Assignment best;
  Evaluation bestCost;
};

/// "9.00 GiB of memory; the limit is 8.00 GiB".
std::string againstLimit(int64_t bytes, int64_t limitBytes);
/// The result when a problem is proven to have no answer.
SearchResult infeasible(std::string reason);
/// The same when even the assignment with the fewest bytes exceeds the memory limit of the problem.
SearchResult aboveMemoryLimit(const Problem &problem, int64_t fewestBytes);

} // namespace apc

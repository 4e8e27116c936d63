// The best answer so far, shared by all searches.
#pragma once

#include "apc/Search/Algorithms.h"

#include <optional>

namespace apc {

/// The best assignment found so far, judged by `evaluate`, and the bound below which none can be.
class Incumbent {
public:
  /// \p cutoffSeconds: answers that are no faster are of no use.
  explicit Incumbent(const Problem &problem, std::optional<double> cutoffSeconds = std::nullopt)
      : problem(problem), cutoff(cutoffSeconds) {}

  /// Takes `assignment` if it passes `verify` and is faster than the best. Returns its cost.
  Evaluation offer(const Assignment &assignment);
  bool exists() const { return found; }
  double seconds() const { return bestCost.seconds; }
  const Assignment &assignment() const { return best; }
  /// What an answer must beat to matter: the best answer, and the cutoff; empty without either.
  std::optional<double> secondsToBeat() const;
  /// Is a bound as good as what there is to beat? Sums of thousands of terms agree to about 1e-13.
  bool isReachedBy(double bound, double gapTolerance) const;
  /// Optimal when `bound` reaches the best, feasible otherwise. Without an answer, which only a cutoff allows:
  /// infeasible, with the bound that says why.
  SearchResult result(double bound) const;

private:
  bool isNear(double bound, double seconds, double gapTolerance) const;

  const Problem &problem;
  std::optional<double> cutoff;
  bool found = false;
  Assignment best;
  Evaluation bestCost;
};

/// The answer that there is none, and why.
SearchResult infeasible(std::string reason);

} // namespace apc

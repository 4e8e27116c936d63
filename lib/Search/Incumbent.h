// The best answer so far, shared by all searches.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

/// The best assignment found so far, judged by `evaluate`, and the bound below which none can be.
class Incumbent {
public:
  explicit Incumbent(const Problem &problem) : problem(problem) {}

  /// Takes `assignment` if it passes `verify` and is faster than the best. Returns its cost.
  Evaluation offer(const Assignment &assignment);
  bool exists() const { return found; }
  double seconds() const { return bestCost.seconds; }
  const Assignment &assignment() const { return best; }
  /// Is a bound as good as reached? Sums of thousands of terms agree to about 1e-13.
  bool isReachedBy(double bound, double gapTolerance) const;
  /// Optimal when `bound` reaches the best, feasible otherwise. Needs `exists()`.
  SearchResult result(double bound) const;

private:
  const Problem &problem;
  bool found = false;
  Assignment best;
  Evaluation bestCost;
};

/// The answer that there is none, and why.
SearchResult infeasible(std::string reason);

} // namespace apc

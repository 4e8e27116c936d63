// `dp` when the fastest assignment does not fit the memory limit.
#pragma once

#include "DpFrontier.h"

#include "apc/Search/Algorithms.h"

namespace apc::dp {

/// The best assignment found so far, judged by `evaluate`, and the bound below which none can be.
class Incumbent {
public:
  explicit Incumbent(const Problem &problem) : problem(problem) {}

  /// Takes `assignment` if it passes `verify` and is faster than the best. Returns its cost.
  Evaluation offer(const Assignment &assignment);
  bool exists() const { return found; }
  double seconds() const { return bestCost.seconds; }
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

/// Everything that the search under a memory limit works on.
struct MemoryProblem {
  const Problem &problem; ///< with a memory limit
  const Reduction &reduction;
  const Plan &plan;
  const SearchOptions &options;
  const Deadline &deadline;
};

/// The least bytes that an assignment needs, with an assignment that does. Stops early at one that fits the limit.
/// Empty at the deadline.
struct LeastMemory {
  int64_t bytes;
  Assignment assignment;
};
std::optional<LeastMemory> findLeastMemory(const MemoryProblem &memory, Elimination &elimination);

/// Best-first over ranges of the largest transient bytes. In a range, the transient bytes are bounded by its upper end
/// and taken as its lower end, so what remains is one linear constraint on the persistent bytes: a Lagrangian bound
/// (the multiplier by intersecting the lines of the two best assignments on either side; exact in the dual, and each
/// evaluation is one elimination), then the frontier within a growing distance of that bound. An answer whose own
/// transient bytes do not fit splits its range there. `known` are assignments to start the dual from (the fastest of
/// all, the smallest of all). Updates `incumbent`; returns the proven bound in seconds.
double searchRanges(const MemoryProblem &memory, llvm::ArrayRef<Assignment> known, Elimination &elimination,
                    Incumbent &incumbent);

} // namespace apc::dp

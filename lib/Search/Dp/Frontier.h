// `dp` under a binding memory limit: seconds against persistent bytes, by elimination with a list for each cell.
#pragma once

#include "Survivors.h"

namespace apc::dp {

struct FrontierQuery {
  double secondsPerByte; ///< the weight of the elimination's last run
  double threshold;      ///< weighted sum that an assignment of interest does not exceed
  int64_t maxPersistentBytes;
  size_t maxFrontier; ///< entries of one list
  /// Seconds that may be lost where long lists are rounded; 0: nothing is.
  double maxError = 0;
};

struct FrontierAnswer {
  /// Surviving strategies of the fastest assignment found within the bytes, if any.
  std::optional<std::vector<uint32_t>> fastest;
  /// No entry was dropped for lack of room. Then no assignment within the bytes, and below the threshold by `error`, is
  /// faster than `fastest` by more than `error`; without `fastest` there is none.
  bool isComplete = true;
  double error = 0; ///< seconds lost by rounding
};

/// The fastest assignment with a weighted sum within the threshold and persistent bytes within the maximum. Each table
/// cell holds a list of (seconds, bytes), no entry beaten in both by another. An entry is dropped when it exceeds the
/// threshold together with the minimum of everything outside the cell. When a list outgrows `maxFrontier`, the entries
/// farthest from the bound are dropped. Lists of more than some 64 entries are rounded: an entry goes where another
/// needs no more bytes and little more time. What a list may lose is the share of `maxError` that its nodes have of all
/// nodes, less what the lists below it have lost (Warburton, "Approximation of Pareto optima in multiple-objective,
/// shortest path problems", 1987, for paths). Example: two nodes with (1 s, 8 B) or (2 s, 4 B), at most 12 B: the list
/// over both is {(2, 16), (3, 12), (4, 8)}.
FrontierAnswer searchFrontier(const ReducedProblem &reduced, const EliminationOrder &order,
                              const Elimination &elimination, const FrontierQuery &query, const Deadline &deadline);

} // namespace apc::dp

// The parts of `recursive` that `auto` uses.
#pragma once

#include "../Reduce/Folding.h"
#include "../Reduce/WeightedProblem.h"

#include "apc/Search/Phases.h"

namespace apc {

/// The folded problem and its tables.
struct FoldedParts {
  Folding folding;
  ReducedProblem reduced;
};

struct SharedWork::Parts {
  std::optional<ReducedProblem> reduced;
  std::optional<WeightedProblem> weighted; ///< of `reduced`; made by `weightedWhole`
  std::optional<FoldedParts> folded;       ///< empty when nothing repeats
  std::vector<Assignment> met;             ///< the best at each weight of a byte; they need not fit

  /// Makes `reduced` and `folded` if they are missing. Returns the reason when the problem has no answer under any
  /// memory limit.
  std::optional<Impossible> make(const Problem &problem);
  WeightedProblem &weightedWhole();
};

/// The additions that TRW-S may take for the bound of `searchRecursive`; about 30 ms.
constexpr double recursiveBoundWork = 6e7;

/// The second phase of `recursive`: repair where folding forced equal choices, and TRW-S for the bound, in at most
/// \p boundWork additions.
llvm::Expected<SearchResult> searchRecursiveFrom(const Problem &problem, const SearchOptions &options,
                                                 SharedWork &shared, const InitialAnswer &first,
                                                 std::optional<double> cutoffSeconds, double boundWork);

} // namespace apc

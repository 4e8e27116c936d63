// `dp` from an answer that is at hand.
#pragma once

#include "../Reduce/ReducedProblem.h"

#include "apc/Search/Algorithms.h"

namespace apc {

/// What is known before a search starts.
struct DpStart {
  const Assignment *assignment = nullptr; ///< passes `verify`: the search is never worse
  std::optional<double> cutoffSeconds;    ///< answers that are no faster are of no use
  /// What is left of the time limit. Rules that are worked out from the limit look at the options, not at the clock.
  std::optional<double> secondsLeft;
  /// The problem without what is dominated in seconds and, where it has a limit, in bytes.
  const dp::Reduction *reduction = nullptr;
  /// Where the graph is too wide for exact tables, no more is done: the start comes from moves and messages, to which
  /// relaxed sums add next to nothing.
  bool onlyExact = false;
};

/// `searchDp` that stops as soon as the start, its cutoff or what it finds is within the gap tolerance of a bound.
/// Expects what `check` accepts. Without an answer, because none beats the cutoff: infeasible, with the bound.
llvm::Expected<SearchResult> searchDpFrom(const Problem &problem, const SearchOptions &options, const DpStart &start);

} // namespace apc

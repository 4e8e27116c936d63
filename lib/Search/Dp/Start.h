// `dp` from an answer that is already known.
#pragma once

#include "../Reduce/ReducedProblem.h"

#include "apc/Search/Algorithms.h"

namespace apc {

/// Knowledge from before the search.
struct DpStart {
  const Assignment *assignment = nullptr; ///< passes `verify`; the answer is never slower
  std::optional<double> cutoffSeconds;    ///< the caller has no use for an answer that is not faster
  /// The rest of the time limit. Budgets of work depend on the whole limit in the options, so that they are
  /// reproducible.
  std::optional<double> secondsLeft;
  /// The problem without strategies that are dominated in seconds and, where it has a limit, in bytes; may be null.
  const ReducedProblem *reduced = nullptr;
  /// Stop if exact tables would be too large: mini-bucket bounds rarely beat a start from moves and TRW-S.
  bool onlyExact = false;
  /// The fastest assignment is not expected to fit. Where exact tables with bytes would be too large, it is then not
  /// looked for: its own tables are the largest of all, and its bound is below that of TRW-S with a weight of a byte.
  bool limitBinds = false;
};

/// `searchDp` that stops as soon as a bound is within the gap tolerance of the start, the cutoff or an answer. Expects
/// a problem that `check` accepts. The status is `CutOff`, with the bound, when no answer beats the cutoff.
llvm::Expected<SearchResult> searchDpFrom(const Problem &problem, const SearchOptions &options, const DpStart &start);

} // namespace apc

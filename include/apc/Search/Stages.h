// The search `auto` in two stages, for callers that hold many problems against each other: an answer to each at once,
// then the rest of the work where it can still change which one is best.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

/// What goes on from the answer that `searchRecursive` gave to the same problem and options; `first` is empty when it
/// found none and proved nothing. \p cutoffSeconds: an
/// answer that is no faster is of no use; the search stops once its bound is within the gap tolerance of the cutoff, or
/// of its own answer. Seconds; never changes what is found below it.
struct SecondStage {
  llvm::Expected<SearchResult> (*run)(const Problem &problem, const SearchOptions &options,
                                      const std::optional<SearchResult> &first, std::optional<double> cutoffSeconds);
};

/// Empty for searches that do all their work at once.
std::optional<SecondStage> secondStageOf(const Search &search);

/// The second stage of `auto`: `dp` within the time limit, then more messages for the bound.
llvm::Expected<SearchResult> searchAutoFrom(const Problem &problem, const SearchOptions &options,
                                            const std::optional<SearchResult> &first,
                                            std::optional<double> cutoffSeconds);

} // namespace apc

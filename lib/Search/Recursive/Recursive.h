// Parts of `recursive` that `auto` uses.
#pragma once

#include "../Reduce/Folding.h"
#include "../Reduce/WeightedProblem.h"

#include "apc/Search/Phases.h"

namespace apc {

/// The folded problem, reduced.
struct FoldedParts {
  Folding folding;
  dp::Reduction reduction;
};

struct Preparation::Parts {
  std::optional<dp::Reduction> reduction;
  std::optional<Landscape> landscape; ///< of `reduction`, once somebody asks for it
  std::optional<FoldedParts> folded;  ///< empty when nothing repeats

  /// Makes what is not there yet. Returns why the problem has no answer, whatever the memory limit is.
  std::optional<dp::Impossible> make(const Problem &problem);
  Landscape &landscapeOfWhole();
};

/// `searchRecursiveFrom` with more messages for the bound: \p boundWork is how many additions they may take
/// (`searchRecursive`: 6e7, about 30 ms).
llvm::Expected<SearchResult> searchRecursiveFrom(const Problem &problem, const SearchOptions &options,
                                                 Preparation &preparation, const FirstAnswer &first,
                                                 std::optional<double> cutoffSeconds, double boundWork);

} // namespace apc

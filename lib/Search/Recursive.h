// Parts of `recursive` that `auto` uses.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

/// `searchRecursive`, and a bound by more messages: \p boundWork is how many additions they may take on the whole
/// problem (`searchRecursive`: 6e7, about 30 ms). Expects what `check` accepts.
llvm::Expected<SearchResult> searchRecursive(const Problem &problem, const SearchOptions &options, double boundWork);

} // namespace apc

// `dp` from an answer that is at hand.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

/// `searchDp` where \p start, which passes `verify`, is the incumbent from the beginning: the search is never worse,
/// and stops as soon as that is within the gap tolerance of a bound. Expects what `check` accepts.
llvm::Expected<SearchResult> searchDpFrom(const Problem &problem, const SearchOptions &options,
                                          const Assignment &start);

} // namespace apc

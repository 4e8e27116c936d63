// The best mix of several answers.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

/// An assignment within the memory limit that is at least as fast as all that take each node's strategy from one of
/// \p answers (assignments of the problem that need not fit) or from \p best, by `dp`; none when that is not faster
/// than
/// \p best, or when exact tables would be too large. Example: one answer keeps a weight whole in none of 80 equal
/// layers, another in all, which does not fit; the mix keeps it whole in as many layers as fit. \p secondsLeft: of
/// wall-clock time.
std::optional<Assignment> bestMix(const Problem &problem, const Assignment &best, llvm::ArrayRef<Assignment> answers,
                                  const SearchOptions &options, double secondsLeft);

} // namespace apc

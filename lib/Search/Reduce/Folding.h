// Repeated parts decided once: a smaller problem in which alike nodes take one strategy.
#pragma once

#include "ReducedProblem.h"

namespace apc {

/// A problem whose node c stands for all nodes n of the original with classOf[n] == c. Seconds and persistent bytes are
/// those of all of them together, so an assignment of one is an assignment of the other at the same cost and memory.
/// Example: 96 equal layers of 40 nodes are about 40 nodes, and some more for the first and the last layers.
struct Folding {
  Problem problem; ///< with the limit of the original
  std::vector<uint32_t> classOf;
  std::vector<std::vector<uint32_t>> strategies; ///< by class: the original strategy of each of its own

  Assignment unfold(const Assignment &folded) const;
};

/// Over the strategies that \p reduction of \p problem keeps. Nodes are alike when their tables are, and those of
/// everything around them up to a distance of two edges. Empty when that does not at least halve the nodes, or when
/// some class could only take impossible pairs with itself.
std::optional<Folding> fold(const Problem &problem, const dp::Reduction &reduction);

} // namespace apc

// Repeated parts decided once: a smaller problem in which identical nodes take one strategy.
#pragma once

#include "ReducedProblem.h"

namespace apc {

/// A problem whose node c stands for all nodes n of the original with classOf[n] == c. Its seconds and persistent bytes
/// are sums over these nodes, so an assignment costs the same, and needs the same memory, in both problems.
/// Example: 96 equal layers of 40 nodes become about 40 nodes, and a few more for the first and the last layers.
struct Folding {
  Problem problem; ///< with the limit of the original
  std::vector<uint32_t> classOf;
  std::vector<std::vector<uint32_t>> strategies; ///< by class: the original strategy of each of its own
  /// By edge of the original: the edge that stands for it; none inside a class.
  std::vector<std::optional<EdgeId>> edgeOf;

  Assignment unfold(const Assignment &folded) const;
};

/// The class of each node: nodes of one class have equal tables and strategies, and so has everything around them up to
/// a distance of two edges. Classes count up in the order of first appearance.
std::vector<uint32_t> identicalNodes(const Problem &problem, const Survivors &survivors);

/// Folds \p problem over the surviving strategies of \p reduced. Empty when folding would not at least halve the
/// number of nodes, or when every strategy of some class is an impossible pair with itself.
/// \p numThreads never changes a result.
std::optional<Folding> fold(const Problem &problem, const ReducedProblem &reduced, unsigned numThreads = 1);

} // namespace apc

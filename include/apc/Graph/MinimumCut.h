// Nodes of the least weight between two parts of a graph.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace apc {

/// A directed graph whose nodes have weights of 0 or more, and the two parts of it to take apart.
struct CutGraph {
  std::vector<int64_t> weights;                 ///< by node; their sum is a number of 63 bits
  std::vector<std::pair<size_t, size_t>> edges; ///< from, to
  std::vector<size_t> sources, targets;
};

/// The nodes of the least weight together that each path from a source to a target meets, ascending; sources and
/// targets may be among them. Of several such sets the one that is nearest to the targets.
///
///   source 0 -> 1 -> 2 target, weights 4, 2, 2:   {2}
///
/// By maximum flow (Boykov and Kolmogorov 2004), each node an edge from where flow comes in to where it leaves.
std::vector<size_t> minimumNodeCut(const CutGraph &graph);

} // namespace apc

// A lower bound for graphs of any width, by passing messages along edges.
#pragma once

#include "../Deadline.h"
#include "../Reduce/WeightedProblem.h"

namespace apc {

/// Sequential reweighted message passing on the landscape's prices. What an edge or a node costs is moved between them,
/// never changed in sum, so that after each pass the least of every node plus the least of every edge is a bound, which
/// no pass lowers but for rounding. Exact on forests whose nodes are in order after two passes. Sources: Kolmogorov, "A
/// new look at reweighted message passing" (2015), figure 1, which for pairwise problems is TRW-S (2006).
class MessagePassing {
public:
  explicit MessagePassing(const Landscape &landscape);

  /// Passes forwards and then backwards over all nodes, under the landscape's weights at the time. Returns the bound on
  /// the weighted sum without the reduction's constant; empty when it proves that everything is impossible.
  std::optional<double> pass();

  /// Kept strategies, node by node: the least own price by messages plus the pairs with the nodes before.
  std::vector<uint32_t> decode() const;

  /// Additions that a pass takes.
  double work() const { return additions; }

private:
  llvm::MutableArrayRef<double> message(size_t node, size_t incidence);
  llvm::ArrayRef<double> message(size_t node, size_t incidence) const;
  llvm::ArrayRef<double> price(size_t node);
  double sweep(bool forwards);
  void collect(size_t node, size_t index);
  void distribute(size_t node, bool forwards);

  const Landscape &landscape;
  double additions = 0;
  std::vector<uint32_t> firstIncidence; ///< by node, into the next two
  std::vector<size_t> firstCell;        ///< by incidence, into `cells`
  std::vector<uint32_t> reverse;        ///< by incidence: the same edge's at its other node
  std::vector<double> cells;            ///< what each edge has given to each of its nodes
  std::vector<double> leastOfEdge;      ///< what edges keep, as of the last time they gave
  bool isImpossible = false;
  std::vector<double> sum, bases, leastOfKind, left; ///< room for one node's or one edge's numbers
};

} // namespace apc

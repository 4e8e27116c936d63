// A lower bound for graphs of any width, by passing messages along edges.
#pragma once

#include "../Reduce/WeightedProblem.h"

namespace apc {

/// Sequential tree-reweighted message passing (TRW-S). Costs are moved between nodes and edges; the cost of every
/// assignment stays the same. So after each pass the minimum of every node plus the minimum of every edge is a bound,
/// and no pass lowers it, apart from rounding. Exact after two passes on forests whose nodes are in order. Sources:
/// Kolmogorov, "Convergent tree-reweighted message passing" (2006), and "A new look at reweighted message passing"
/// (2015), figure 1.
class TrwsBound {
public:
  /// \p copies: of each edge, how many it stands for: a node gives an edge a share for each. Empty: one each.
  explicit TrwsBound(const WeightedProblem &weighted, std::vector<double> copies = {});

  /// A start: the edge at an end of a node gives the node as much, for each strategy.
  void give(size_t node, size_t end, llvm::ArrayRef<double> seconds);
  /// The costs that the edge at an end of a node has given the node, for each strategy; a NaN where it is impossible.
  llvm::ArrayRef<double> given(size_t node, size_t end) const { return message(node, end); }

  /// The bound without another pass; empty when no assignment is possible. \p kindOf: of each edge; edges of one kind
  /// have equal tables between nodes of equal costs, and have given these the same: the minimum of one is that of all.
  std::optional<double> boundNow(llvm::ArrayRef<uint32_t> kindOf);

  /// One pass forwards and one backwards over all nodes, under the current weights of the problem. Returns a bound on
  /// the weighted sum without `constantSeconds`; empty when the pass proves that no assignment is possible.
  std::optional<double> pass();

  /// For each strategy of a node: no assignment with it has a weighted sum below this, under the weights of the last
  /// pass. Empty before the first pass; a NaN where the strategy is impossible.
  llvm::ArrayRef<double> leastWith(size_t node) const;

  /// Surviving strategies, node by node: the minimum of the reweighted cost plus the pairs with the nodes before it.
  std::vector<uint32_t> decode() const;

  /// The number of additions of a pass.
  double work() const { return additions; }

private:
  llvm::MutableArrayRef<double> message(size_t node, size_t end);
  llvm::ArrayRef<double> message(size_t node, size_t end) const;
  llvm::ArrayRef<double> cost(size_t node);
  double sweep(bool forwards);
  void note(size_t node, llvm::ArrayRef<double> costs, double lowest);
  std::optional<double> findLeft(size_t node, size_t index);
  void collect(size_t node, size_t index);
  void distribute(size_t node, bool forwards, llvm::ArrayRef<double> costs, double lowest);

  const WeightedProblem &weighted;
  std::vector<double> copies; ///< by edge
  double additions = 0;
  std::vector<uint32_t> firstEnd;  ///< by node, into the next two
  std::vector<size_t> firstCell;   ///< by end, into `cells`
  std::vector<uint32_t> reverse;   ///< by end: the end of the same edge at its other node
  std::vector<double> cells;       ///< the costs that each edge has given to its two nodes
  std::vector<double> leastOfEdge; ///< the minimum of each edge when it last gave
  double boundBefore = 0;          ///< of the last sweep forwards
  std::vector<std::vector<double>> leastByNode;
  bool isImpossible = false;
  std::vector<double> sum, bases, leastOfKind, left; ///< scratch for one node or one edge
};

} // namespace apc

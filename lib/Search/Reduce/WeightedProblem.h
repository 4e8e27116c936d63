// A reduced problem for searches that change single nodes: the neighbours of each node, and rows of costs that are
// contiguous from either side of an edge.
#pragma once

#include "Incidences.h"
#include "PairKinds.h"
#include "ReducedProblem.h"

namespace apc {

/// One end of an edge of a weighted problem, as its node sees it.
struct WeightedEnd {
  uint32_t other;
  uint32_t edge; ///< edges with two ends, numbered
  uint32_t rows; ///< the table in the orientation that `WeightedProblem::pairs` needs
};

/// Built once for a reduced problem; `weigh` changes the own costs of the strategies. Impossible strategies and pairs
/// are NaN.
class WeightedProblem {
public:
  /// \p numThreads never changes a result.
  explicit WeightedProblem(const ReducedProblem &reduced, unsigned numThreads = 1);

  void weigh(const Weights &weights);

  const ReducedProblem &getReduced() const { return *reduced; }
  size_t numNodes() const { return kindOf.size(); }
  size_t numEdges() const { return edgeCount; }
  size_t numStrategies(size_t node) const { return own(node).size(); }
  const UnaryTable &unary(size_t node) const { return reduced->unary(node); }
  /// The weighted cost of each strategy of a node, with its pairs to neighbours that have one strategy left.
  llvm::ArrayRef<double> own(size_t node) const { return ownOf[kindOf[node]]; }
  /// Nodes of one kind have the same costs of their own.
  uint32_t ownKind(size_t node) const { return kindOf[node]; }
  llvm::ArrayRef<WeightedEnd> ends(size_t node) const { return endsOf[node]; }
  /// For every strategy of the node that `end` belongs to: seconds of its pair with a strategy of the other node.
  llvm::ArrayRef<double> pairs(const WeightedEnd &end, uint32_t strategyOfOther) const {
    const Rows &rows = tables[end.rows];
    return llvm::ArrayRef(rows.cells + strategyOfOther * rows.columns, rows.columns);
  }
  /// All pairs of an edge without repetition, with rows for the other node.
  const PairsByKind &kinds(const WeightedEnd &end) const { return byKind[end.rows]; }
  bool hasImpossible(const WeightedEnd &end) const { return tables[end.rows].hasImpossible; }

private:
  /// A leaf or its transpose, with rows for the other node's strategies.
  struct Rows {
    const double *cells;
    size_t columns;
    bool hasImpossible;
  };
  /// Ids of a node's own table and of its tables over itself alone. Nodes of one kind have the same own costs.
  using Kind = std::vector<uint32_t>;

  void addTables(unsigned numThreads);
  void addEnds();

  const ReducedProblem *reduced;
  size_t edgeCount = 0;
  std::vector<uint32_t> kindOf;
  std::vector<Kind> distinctKinds;
  std::vector<std::vector<double>> ownOf; ///< by kind
  EndsByNode<WeightedEnd> endsOf;
  std::vector<Rows> tables; ///< 2 * leaf: as it is, for its later node; 2 * leaf + 1: transposed
  std::vector<std::vector<double>> transposedLeaves;
  std::vector<PairsByKind> byKind; ///< like `tables`
};

} // namespace apc

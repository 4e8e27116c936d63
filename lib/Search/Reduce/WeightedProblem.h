// A reduced problem as searches that change single nodes see it: the neighbours of each node, and rows of numbers that
// are contiguous from either side.
#pragma once

#include "PairKinds.h"
#include "ReducedProblem.h"

#include <limits>

namespace apc {

/// One end of an edge, as its node sees it.
struct Incidence {
  uint32_t other;
  uint32_t edge; ///< counts the edges with two ends
  uint32_t rows; ///< the table as `Landscape::pairs` reads it
};

/// What a node's own choices cost, in seconds plus a price for bytes.
struct OwnPrice {
  double bytesWeight = 0; ///< seconds for a persistent byte
  int64_t maxTransientBytes = std::numeric_limits<int64_t>::max();
};

/// Built once for a reduction; `weigh` changes the price of a node's own choices. Impossible choices and pairs are NaN.
class Landscape {
public:
  explicit Landscape(const dp::Reduction &reduction);

  void weigh(const OwnPrice &price);

  const dp::Reduction &getReduction() const { return *reduction; }
  size_t numNodes() const { return kindOf.size(); }
  size_t numEdges() const { return edgeCount; }
  size_t numStrategies(size_t node) const { return own(node).size(); }
  const dp::UnaryTable &unary(size_t node) const { return reduction->unary(node); }
  /// Seconds and price of the node's own choices, with those of its pairs whose other side is settled.
  llvm::ArrayRef<double> own(size_t node) const { return ownOf[kindOf[node]]; }
  llvm::ArrayRef<Incidence> incidences(size_t node) const {
    return llvm::ArrayRef(ends).slice(firstEnd[node], firstEnd[node + 1] - firstEnd[node]);
  }
  /// For every strategy of the node that `incidence` belongs to: seconds of the pair with the other's `strategy`.
  llvm::ArrayRef<double> pairs(const Incidence &incidence, uint32_t strategy) const {
    const Rows &rows = tables[incidence.rows];
    return llvm::ArrayRef(rows.cells + strategy * rows.columns, rows.columns);
  }
  /// All of them, without repetition.
  const PairsByKind &kinds(const Incidence &incidence) const { return byKind[incidence.rows]; }
  bool hasImpossible(const Incidence &incidence) const { return tables[incidence.rows].hasImpossible; }

private:
  /// A leaf, or a leaf turned: rows are the other node's strategies.
  struct Rows {
    const double *cells;
    size_t columns;
    bool hasImpossible;
  };
  /// Nodes with the same own table and the same tables over them alone.
  using Kind = std::vector<uint32_t>;

  void addEnds();
  void addKinds(const std::vector<Kind> &kinds);

  const dp::Reduction *reduction;
  size_t edgeCount = 0;
  std::vector<uint32_t> kindOf;
  std::vector<Kind> distinctKinds;
  std::vector<std::vector<double>> ownOf;
  std::vector<uint32_t> firstEnd;
  std::vector<Incidence> ends;
  std::vector<Rows> tables; ///< 2 * leaf: as it is, for its later node; 2 * leaf + 1: turned
  std::vector<std::vector<double>> turnedLeaves;
  std::vector<PairsByKind> byKind; ///< like `tables`
};

} // namespace apc

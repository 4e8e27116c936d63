// `dp`, first step: the problem without the strategies that no best answer needs, as dense tables with shared ids.
#pragma once

#include "Pruning.h"

#include "llvm/ADT/SmallVector.h"

#include <variant>
#include <vector>

namespace apc::dp {

/// What the kept strategies of a node cost. Equal tables have one id, so that repeated layers look the same.
struct UnaryTable {
  std::vector<double> seconds;
  std::vector<int64_t> persistentBytes;
  std::vector<int64_t> transientBytes;

  size_t size() const { return seconds.size(); }
  friend bool operator==(const UnaryTable &, const UnaryTable &) = default;
};

/// A dense table of seconds over one or more variables, the last one contiguous. An impossible cell is a NaN.
/// Example: sizes {2, 3}, the cell of (1, 2) is cells[1 * 3 + 2].
struct DenseTable {
  llvm::SmallVector<uint32_t, 4> sizes;
  std::vector<double> cells;
};

/// A table applied to nodes, in ascending order.
struct LeafFactor {
  uint32_t table;
  llvm::SmallVector<uint32_t, 2> scope;
};

/// The reduced problem. Strategies are counted within the kept ones; `expand` maps an answer back.
struct Reduction {
  std::vector<UnaryTable> unaries;
  std::vector<uint32_t> unaryOf; ///< for each node
  std::vector<DenseTable> leaves;
  /// At most one for each edge: a table that is the same everywhere has gone into `constantSeconds`, and a node with
  /// one strategy has left its neighbour a table over the neighbour alone.
  std::vector<LeafFactor> factors;
  double constantSeconds = 0;
  std::vector<std::vector<uint32_t>> keepSets;
  std::vector<uint32_t> keepOf; ///< for each node

  size_t numNodes() const { return unaryOf.size(); }
  const UnaryTable &unary(size_t node) const { return unaries[unaryOf[node]]; }
  Assignment expand(llvm::ArrayRef<uint32_t> kept) const;
  /// The way back; a strategy that was shaved becomes the first that was not.
  std::vector<uint32_t> compress(const Assignment &assignment) const;
};

/// The tables of the kept strategies.
std::variant<Reduction, Impossible> tablesOf(const Problem &problem, Kept kept);

/// Those of what \ref shave leaves, from \p start where there is one.
std::variant<Reduction, Impossible> reduce(const Problem &problem, Dominance dominance,
                                           const Reduction *start = nullptr);

} // namespace apc::dp

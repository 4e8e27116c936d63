// The problem that every search solves: nodes with strategies, edges with a table of seconds for every pair, a memory
// limit.
#pragma once

#include "apc/Support/Id.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace apc {

using NodeId = Id<struct NodeTag>;
using EdgeId = Id<struct EdgeTag>;
using NodeTableId = Id<struct NodeTableTag>;
using PairTableId = Id<struct PairTableTag>;

/// The cost of one strategy of one node. Persistent bytes stay for the whole step (parameters), transient bytes only
/// while the node runs.
struct StrategyCost {
  double seconds = 0;
  int64_t persistentBytes = 0;
  int64_t transientBytes = 0;

  friend bool operator==(const StrategyCost &, const StrategyCost &) = default;
};

/// The strategies of a node. Identical nodes (the 96 layers) share one table.
struct NodeTable {
  std::vector<std::string> names;
  std::vector<StrategyCost> costs; ///< one for each name; never empty
  /// Empty, or one list for each strategy, all of one length in a problem: the use of every axis of the mesh, outermost
  /// first; 0 when the axis is idle, another number for each thing that it can cut. Example: {1, 0} and {2, 1} on two
  /// axes. Only a guide for searches; it changes no cost.
  std::vector<std::vector<uint32_t>> axes = {};

  friend bool operator==(const NodeTable &, const NodeTable &) = default;
};

/// Seconds for every pair of strategies (producer's row, consumer's column); a pair may be impossible. Shared like node
/// tables. Copies of a table share its cells until one of them is changed.
class PairTable {
public:
  PairTable() : PairTable(0, 0) {}
  PairTable(size_t numRows, size_t numColumns)
      : numColumns(numColumns), cells(std::make_shared<std::vector<double>>(numRows * numColumns, 0.0)) {}

  size_t rows() const { return numColumns == 0 ? 0 : cells->size() / numColumns; }
  size_t columns() const { return numColumns; }
  bool possible(size_t row, size_t column) const {
    double cell = (*cells)[row * numColumns + column];
    return cell == cell;
  }
  /// Empty for an impossible pair.
  std::optional<double> at(size_t row, size_t column) const {
    return possible(row, column) ? std::optional((*cells)[row * numColumns + column]) : std::nullopt;
  }
  void set(size_t row, size_t column, std::optional<double> seconds) {
    if (cells.use_count() > 1)
      cells = std::make_shared<std::vector<double>>(*cells);
    (*cells)[row * numColumns + column] = seconds.value_or(std::numeric_limits<double>::quiet_NaN());
  }
  /// The cells of one row. An impossible pair is a NaN here and in the tables that searches derive from it, and nowhere
  /// else in the program.
  llvm::ArrayRef<double> row(size_t index) const {
    return llvm::ArrayRef(*cells).slice(index * numColumns, numColumns);
  }

  /// All cells, row by row, as `row` has them; they outlive the table and its changes.
  std::shared_ptr<const std::vector<double>> sharedCells() const { return cells; }

  friend bool operator==(const PairTable &, const PairTable &);

private:
  size_t numColumns;
  std::shared_ptr<std::vector<double>> cells;
};

struct Node {
  std::string name;
  NodeTableId table;
  /// The pin that fixed the strategies of the node, for messages; empty without a pin. `propagation` starts from pinned
  /// nodes.
  std::string pin = {};
  /// `propagation` decides nodes of a lower priority first. 0: elementwise, 1: contractions, 2: sources.
  unsigned priority = 0;
  /// The node stands for no op but for a value on its way to several users: `propagation` decides it as soon as it can,
  /// and does not count it on the way from a pin.
  bool isHub = false;
};

struct Edge {
  NodeId from, to;
  PairTableId table;
};

/// Example: two nodes of two strategies; taking row/row or column/column costs nothing on the edge, anything else 1 s.
///   nodes a, b; edge a -> b with {{0, 1}, {1, 0}}.
/// Nodes that belong together (a forward op and its gradient) are one node. The graph need not be connected; parallel
/// edges add up.
struct Problem {
  std::vector<NodeTable> nodeTables;
  std::vector<PairTable> pairTables;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::optional<int64_t> memoryLimitBytes;

  const NodeTable &tableOf(NodeId node) const { return nodeTables[nodes[node.index()].table.index()]; }
  const PairTable &tableOf(const Edge &edge) const { return pairTables[edge.table.index()]; }
  NodeTableId addNodeTable(NodeTable table);
  PairTableId addPairTable(PairTable table);
  NodeId addNode(std::string name, NodeTableId table);
  void addEdge(NodeId from, NodeId to, PairTableId table);

  /// Input constraints: no empty table, ids in range, sizes that match (pairs, axes), no self edge, seconds in [0,
  /// 2^100], bytes in [0, 2^53], also all persistent ones together, names unique. The error names node or edge.
  llvm::Error check() const;
};

/// One strategy for each node, nothing else.
struct Assignment {
  std::vector<uint32_t> strategies;

  uint32_t operator[](NodeId node) const { return strategies[node.index()]; }
  friend bool operator==(const Assignment &, const Assignment &) = default;
};

/// The cost of an assignment: `bytes` is the sum of persistent bytes plus the largest transient bytes.
struct Evaluation {
  double seconds = 0;
  int64_t persistentBytes = 0;
  int64_t transientBytes = 0;

  int64_t bytes() const { return persistentBytes + transientBytes; }
};

/// The two judges, the same for every search. `verify`: every node has a strategy in range, no pair is impossible, and
/// memory is within the limit. `evaluate` sums in index order, so equal assignments give equal bits; it expects an
/// assignment that `verify` accepts, except for the limit.
llvm::Error verify(const Problem &problem, const Assignment &assignment);
Evaluation evaluate(const Problem &problem, const Assignment &assignment);

} // namespace apc

// The edges of a graph, listed for each node.
#pragma once

#include "apc/Search/Problem.h"

#include "llvm/ADT/ArrayRef.h"

#include <utility>

namespace apc {

/// Lists of `End`, one for each node, in one array. Each list keeps the order in which its ends were given.
template <typename End>
class EndsByNode {
public:
  EndsByNode() = default;
  /// \p ends: pairs of a node and an end that belongs to it.
  EndsByNode(size_t numNodes, llvm::ArrayRef<std::pair<uint32_t, End>> ends)
      : first(numNodes + 1, 0), all(ends.size()) {
    for (const auto &[node, end] : ends)
      ++first[node + 1];
    for (size_t node = 0; node < numNodes; ++node)
      first[node + 1] += first[node];
    std::vector<uint32_t> next(first.begin(), first.end() - 1);
    for (const auto &[node, end] : ends)
      all[next[node]++] = end;
  }

  llvm::ArrayRef<End> operator[](size_t node) const {
    return llvm::ArrayRef(all).slice(first[node], first[node + 1] - first[node]);
  }

private:
  std::vector<uint32_t> first; ///< by node, into `all`
  std::vector<End> all;
};

/// One end of an edge, as its node sees it. Every function takes the node's own strategy first.
struct Incidence {
  uint32_t other = 0;
  PairTableId tableId;
  const PairTable *table = nullptr;
  bool isProducer = false; ///< the node's strategies are the table's rows

  bool possible(size_t own, size_t others) const {
    return isProducer ? table->possible(own, others) : table->possible(others, own);
  }
  std::optional<double> at(size_t own, size_t others) const {
    return isProducer ? table->at(own, others) : table->at(others, own);
  }
  /// Seconds of the pair; a NaN when it is impossible.
  double cell(size_t own, size_t others) const {
    return isProducer ? table->row(own)[others] : table->row(others)[own];
  }
};

/// Example: with one edge a -> b, the list of a holds {b, the table, isProducer = true} and that of b {a, the table,
/// isProducer = false}. A list follows the order of `Problem::edges`.
using Incidences = EndsByNode<Incidence>;

inline Incidences incidencesOf(const Problem &problem) {
  std::vector<std::pair<uint32_t, Incidence>> ends;
  ends.reserve(2 * problem.edges.size());
  for (const Edge &edge : problem.edges) {
    const PairTable *table = &problem.tableOf(edge);
    ends.push_back({edge.from.value, {edge.to.value, edge.table, table, true}});
    ends.push_back({edge.to.value, {edge.from.value, edge.table, table, false}});
  }
  return Incidences(problem.nodes.size(), ends);
}

} // namespace apc

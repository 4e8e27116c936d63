// Classes of alike nodes by rounds of refinement, and the problem over them.
#include "Folding.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <map>
#include <numeric>

namespace apc {

namespace {

/// Of an edge, what its two ends and its table are.
using EdgeKind = std::array<uint32_t, 3>;

std::vector<uint32_t> classes(const Problem &problem, const dp::Reduction &reduction) {
  constexpr unsigned distance = 2;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> own;
  std::vector<uint32_t> classOf;
  for (auto [node, keep] : llvm::zip_equal(problem.nodes, reduction.keepOf))
    classOf.push_back(own.try_emplace({node.table.value, keep}, own.size()).first->second);
  for (unsigned round = 0; round < distance; ++round) {
    std::vector<std::vector<std::array<uint32_t, 3>>> around(problem.nodes.size());
    for (const Edge &edge : problem.edges) {
      around[edge.from.index()].push_back({edge.table.value, 0, classOf[edge.to.index()]});
      around[edge.to.index()].push_back({edge.table.value, 1, classOf[edge.from.index()]});
    }
    std::map<std::pair<uint32_t, std::vector<std::array<uint32_t, 3>>>, uint32_t> ids;
    for (auto [node, own] : llvm::enumerate(classOf)) {
      llvm::sort(around[node]);
      own = ids.try_emplace({own, std::move(around[node])}, ids.size()).first->second;
    }
  }
  return classOf;
}

class Folder {
public:
  Folder(const Problem &problem, const dp::Reduction &reduction, std::vector<uint32_t> classOf)
      : problem(problem), reduction(reduction) {
    folding.classOf = std::move(classOf);
    folding.problem.memoryLimitBytes = problem.memoryLimitBytes;
    for (auto [node, own] : llvm::enumerate(folding.classOf)) {
      if (own == count.size()) {
        count.push_back(0);
        first.push_back(node);
      }
      ++count[own];
    }
    for (const Edge &edge : problem.edges)
      ++edges[{folding.classOf[edge.from.index()], folding.classOf[edge.to.index()], edge.table.value}];
  }

  std::optional<Folding> run() {
    for (size_t own = 0; own < count.size(); ++own)
      if (!addClass(own))
        return std::nullopt;
    for (auto &[kind, number] : edges)
      if (kind[0] != kind[1])
        addEdge(kind, number);
    return std::move(folding);
  }

private:
  llvm::ArrayRef<uint32_t> keptOf(uint32_t own) const { return reduction.keepSets[reduction.keepOf[first[own]]]; }

  /// Pairs of a class with itself are a part of its own price: one sum for each kept strategy.
  std::vector<std::optional<double>> pairsWithItself(uint32_t own) const {
    std::vector<std::optional<double>> seconds(keptOf(own).size(), 0.0);
    for (auto [kind, number] : edges)
      if (kind[0] == own && kind[1] == own)
        for (auto [strategy, sum] : llvm::zip_equal(keptOf(own), seconds)) {
          std::optional<double> pair = problem.pairTables[kind[2]].at(strategy, strategy);
          if (sum && pair)
            *sum += *pair * static_cast<double>(number);
          else
            sum.reset();
        }
    return seconds;
  }

  bool addClass(uint32_t own) {
    const NodeTable &table = problem.tableOf(NodeId(first[own]));
    NodeTable folded;
    std::vector<uint32_t> kept;
    for (auto [strategy, pairs] : llvm::zip_equal(keptOf(own), pairsWithItself(own))) {
      if (!pairs)
        continue;
      const StrategyCost &cost = table.costs[strategy];
      kept.push_back(strategy);
      folded.names.push_back(table.names[strategy]);
      folded.costs.push_back({cost.seconds * static_cast<double>(count[own]) + *pairs,
                              cost.persistentBytes * static_cast<int64_t>(count[own]), cost.transientBytes});
      if (!table.axes.empty())
        folded.axes.push_back(table.axes[strategy]);
    }
    if (kept.empty())
      return false;
    folding.problem.addNode(problem.nodes[first[own]].name, folding.problem.addNodeTable(std::move(folded)));
    folding.strategies.push_back(std::move(kept));
    return true;
  }

  void addEdge(const EdgeKind &kind, size_t number) {
    const std::vector<uint32_t> &rows = folding.strategies[kind[0]], &columns = folding.strategies[kind[1]];
    PairTable pairs(rows.size(), columns.size());
    for (auto [row, from] : llvm::enumerate(rows)) {
      llvm::ArrayRef<double> cells = problem.pairTables[kind[2]].row(from);
      for (auto [column, to] : llvm::enumerate(columns)) // a NaN, an impossible pair, stays one
        pairs.set(row, column, cells[to] * static_cast<double>(number));
    }
    folding.problem.addEdge(NodeId(kind[0]), NodeId(kind[1]), folding.problem.addPairTable(std::move(pairs)));
  }

  const Problem &problem;
  const dp::Reduction &reduction;
  Folding folding;
  std::vector<size_t> count, first; ///< by class: how many nodes, and the first of them
  std::map<EdgeKind, size_t> edges; ///< how many there are of each
};

} // namespace

Assignment Folding::unfold(const Assignment &folded) const {
  Assignment assignment;
  for (uint32_t own : classOf)
    assignment.strategies.push_back(strategies[own][folded.strategies[own]]);
  return assignment;
}

std::optional<Folding> fold(const Problem &problem, const dp::Reduction &reduction) {
  std::vector<uint32_t> classOf = classes(problem, reduction);
  size_t numClasses = classOf.empty() ? 0 : *llvm::max_element(classOf) + 1;
  if (2 * numClasses > problem.nodes.size() || numClasses == 0)
    return std::nullopt;
  return Folder(problem, reduction, std::move(classOf)).run();
}

} // namespace apc

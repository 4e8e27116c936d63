// Classes of identical nodes by rounds of refinement, and the problem over the classes.
#include "Folding.h"

#include "apc/Support/Interner.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <map>

namespace apc {

std::vector<uint32_t> identicalNodes(const Problem &problem, const Survivors &survivors) {
  constexpr unsigned distance = 2;
  Interner<std::pair<uint32_t, uint32_t>> tables;
  std::vector<uint32_t> classOf;
  for (auto [node, set] : llvm::zip_equal(problem.nodes, survivors.setOf))
    classOf.push_back(tables.idOf({node.table.value, set}));
  using Neighbour = std::array<uint32_t, 3>; // table, side, class
  for (unsigned round = 0; round < distance; ++round) {
    std::vector<std::vector<Neighbour>> around(problem.nodes.size());
    for (const Edge &edge : problem.edges) {
      around[edge.from.index()].push_back({edge.table.value, 0, classOf[edge.to.index()]});
      around[edge.to.index()].push_back({edge.table.value, 1, classOf[edge.from.index()]});
    }
    Interner<std::pair<uint32_t, std::vector<Neighbour>>> refined;
    for (auto [node, id] : llvm::enumerate(classOf)) {
      llvm::sort(around[node]);
      id = refined.idOf({id, std::move(around[node])});
    }
  }
  return classOf;
}

namespace {

/// The classes of the two ends of an edge, and its table.
using EdgeKind = std::array<uint32_t, 3>;

class Folder {
public:
  Folder(const Problem &problem, const ReducedProblem &reduced, std::vector<uint32_t> classOf)
      : problem(problem), reduced(reduced) {
    folding.classOf = std::move(classOf);
    folding.problem.memoryLimitBytes = problem.memoryLimitBytes;
    for (auto [node, id] : llvm::enumerate(folding.classOf)) {
      if (id == count.size()) {
        count.push_back(0);
        first.push_back(node);
      }
      ++count[id];
    }
    for (const Edge &edge : problem.edges)
      ++edges[kindOf(edge)];
  }

  std::optional<Folding> run(unsigned numThreads) {
    for (size_t id = 0; id < count.size(); ++id)
      if (!addClass(id))
        return std::nullopt;
    std::vector<std::pair<EdgeKind, size_t>> outer;
    llvm::copy_if(edges, std::back_inserter(outer), [](const auto &edge) { return edge.first[0] != edge.first[1]; });
    std::vector<PairTable> tables(outer.size());
    forEach(outer.size(), numThreads,
            [&](size_t index) { tables[index] = tableOf(outer[index].first, outer[index].second); });
    std::map<EdgeKind, EdgeId> ids;
    for (auto [edge, table] : llvm::zip_equal(outer, tables)) {
      ids.try_emplace(edge.first, folding.problem.edges.size());
      PairTableId id = folding.problem.addPairTable(std::move(table));
      folding.problem.addEdge(NodeId(edge.first[0]), NodeId(edge.first[1]), id);
    }
    for (const Edge &edge : problem.edges) {
      auto found = ids.find(kindOf(edge));
      folding.edgeOf.push_back(found == ids.end() ? std::nullopt : std::optional(found->second));
    }
    return std::move(folding);
  }

private:
  EdgeKind kindOf(const Edge &edge) const {
    return {folding.classOf[edge.from.index()], folding.classOf[edge.to.index()], edge.table.value};
  }

  llvm::ArrayRef<uint32_t> survivorsOf(uint32_t id) const { return reduced.survivors.of(first[id]); }

  /// The sum of the pairs of a class with itself, for each surviving strategy; a part of the own cost of the class.
  std::vector<std::optional<double>> pairsWithItself(uint32_t id) const {
    std::vector<std::optional<double>> seconds(survivorsOf(id).size(), 0.0);
    for (auto [kind, number] : edges)
      if (kind[0] == id && kind[1] == id)
        for (auto [strategy, sum] : llvm::zip_equal(survivorsOf(id), seconds)) {
          std::optional<double> pair = problem.pairTables[kind[2]].at(strategy, strategy);
          if (sum && pair)
            *sum += *pair * static_cast<double>(number);
          else
            sum.reset();
        }
    return seconds;
  }

  /// False when no strategy is left to the class.
  bool addClass(uint32_t id) {
    const NodeTable &table = problem.tableOf(NodeId(first[id]));
    NodeTable folded;
    std::vector<uint32_t> strategies;
    for (auto [strategy, pairs] : llvm::zip_equal(survivorsOf(id), pairsWithItself(id))) {
      if (!pairs)
        continue;
      const StrategyCost &cost = table.costs[strategy];
      strategies.push_back(strategy);
      folded.names.push_back(table.names[strategy]);
      folded.costs.push_back({cost.seconds * static_cast<double>(count[id]) + *pairs,
                              cost.persistentBytes * static_cast<int64_t>(count[id]), cost.transientBytes});
      if (!table.axes.empty())
        folded.axes.push_back(table.axes[strategy]);
    }
    if (strategies.empty())
      return false;
    folding.problem.addNode(problem.nodes[first[id]].name, folding.problem.addNodeTable(std::move(folded)));
    folding.strategies.push_back(std::move(strategies));
    return true;
  }

  PairTable tableOf(const EdgeKind &kind, size_t number) const {
    const std::vector<uint32_t> &rows = folding.strategies[kind[0]], &columns = folding.strategies[kind[1]];
    PairTable pairs(rows.size(), columns.size());
    for (auto [row, from] : llvm::enumerate(rows)) {
      llvm::ArrayRef<double> cells = problem.pairTables[kind[2]].row(from);
      for (auto [column, to] : llvm::enumerate(columns)) // an impossible pair, a NaN, stays a NaN
        pairs.set(row, column, cells[to] * static_cast<double>(number));
    }
    return pairs;
  }

  const Problem &problem;
  const ReducedProblem &reduced;
  Folding folding;
  std::vector<size_t> count, first; ///< by class: the number of its nodes, and the first of them
  std::map<EdgeKind, size_t> edges; ///< how many there are of each kind
};

} // namespace

Assignment Folding::unfold(const Assignment &folded) const {
  Assignment assignment;
  for (uint32_t id : classOf)
    assignment.strategies.push_back(strategies[id][folded.strategies[id]]);
  return assignment;
}

std::optional<Folding> fold(const Problem &problem, const ReducedProblem &reduced, unsigned numThreads) {
  std::vector<uint32_t> classOf = identicalNodes(problem, reduced.survivors);
  size_t numClasses = classOf.empty() ? 0 : *llvm::max_element(classOf) + 1;
  if (2 * numClasses > problem.nodes.size() || numClasses == 0)
    return std::nullopt;
  return Folder(problem, reduced, std::move(classOf)).run(numThreads);
}

} // namespace apc

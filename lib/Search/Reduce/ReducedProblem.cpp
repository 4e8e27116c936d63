// The tables of the surviving strategies.
#include "ReducedProblem.h"

#include "apc/Support/Interner.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <array>
#include <cstring>
#include <map>

namespace apc {

namespace {

using StrategySet = std::vector<uint32_t>;

struct TableHash {
  size_t operator()(const UnaryTable &table) const { return hashOf(table.seconds); }
  size_t operator()(const DenseTable &table) const { return hashOf(table.cells); }

private:
  static uint64_t hashOf(llvm::ArrayRef<double> numbers) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(numbers.data());
    return llvm::xxh3_64bits(llvm::ArrayRef(bytes, numbers.size() * sizeof(double)));
  }
};

/// By bits, so that a NaN equals itself.
struct SameBits {
  bool operator()(const DenseTable &a, const DenseTable &b) const {
    return a.sizes == b.sizes && a.cells.size() == b.cells.size() &&
           std::memcmp(a.cells.data(), b.cells.data(), a.cells.size() * sizeof(double)) == 0;
  }
};

/// Fills a reduced problem with the tables of its survivors.
class TableBuilder {
public:
  TableBuilder(const Problem &problem, ReducedProblem &result) : problem(problem), result(result) {}

  std::optional<Impossible> run(unsigned numThreads) {
    addUnaries();
    if (numThreads > 1)
      makeLeaves(numThreads);
    for (uint32_t edge = 0; edge < problem.edges.size(); ++edge)
      if (std::optional<Impossible> impossible = addPotential(edge))
        return impossible;
    result.unaries = unaries.take();
    result.leaves = leaves.take();
    return std::nullopt;
  }

private:
  void addUnaries() {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;
    for (size_t node = 0; node < problem.nodes.size(); ++node) {
      uint32_t table = problem.nodes[node].table.value;
      auto [entry, isNew] = known.try_emplace({table, result.survivors.setOf[node]}, 0);
      if (isNew)
        entry->second = unaries.idOf(unaryTable(problem.nodeTables[table], result.survivors.of(node)));
      result.unaryOf.push_back(entry->second);
    }
  }

  static UnaryTable unaryTable(const NodeTable &table, const StrategySet &strategies) {
    UnaryTable unary;
    for (uint32_t strategy : strategies) {
      unary.seconds.push_back(table.costs[strategy].seconds);
      unary.persistentBytes.push_back(table.costs[strategy].persistentBytes);
      unary.transientBytes.push_back(table.costs[strategy].transientBytes);
    }
    return unary;
  }

  /// The pair table of an edge, its orientation, and the sets of strategies of the earlier and the later node.
  using LeafKey = std::array<uint32_t, 4>;

  LeafKey keyOf(const Edge &edge) const {
    llvm::ArrayRef<uint32_t> setOf = result.survivors.setOf;
    auto [low, high] = std::minmax(edge.from.value, edge.to.value);
    return {edge.table.value, edge.from < edge.to, setOf[low], setOf[high]};
  }

  DenseTable leafOf(const LeafKey &key) const {
    llvm::ArrayRef<StrategySet> sets = result.survivors.sets;
    return leafTable(problem.pairTables[key[0]], key[1], sets[key[2]], sets[key[3]]);
  }

  /// The leaves of all edges, side by side.
  void makeLeaves(unsigned numThreads) {
    std::vector<std::pair<LeafKey, std::optional<DenseTable> *>> open;
    for (const Edge &edge : problem.edges)
      if (auto [entry, isNew] = made.try_emplace(keyOf(edge)); isNew)
        open.push_back({entry->first, &entry->second});
    forEach(open.size(), numThreads, [&](size_t index) { *open[index].second = leafOf(open[index].first); });
  }

  uint32_t addLeaf(const LeafKey &key) {
    auto found = made.find(key);
    if (found == made.end())
      return leaves.idOf(leafOf(key));
    return leaves.idOf(*std::exchange(found->second, std::nullopt));
  }

  std::optional<Impossible> addPotential(uint32_t index) {
    const Edge &edge = problem.edges[index];
    auto [low, high] = std::minmax(edge.from.value, edge.to.value);
    const Survivors &survivors = result.survivors;
    LeafKey key = keyOf(edge);
    auto [entry, isNew] = known.try_emplace(key, 0);
    if (isNew)
      entry->second = addLeaf(key);
    const DenseTable &leaf = leaves[entry->second];
    double first = leaf.cells[0];
    if (llvm::all_of(leaf.cells, [&](double cell) { return cell == first; })) {
      result.constantSeconds += first;
      return std::nullopt;
    }
    Potential potential{entry->second, {}, index};
    for (uint32_t node : {low, high})
      if (survivors.of(node).size() > 1)
        potential.scope.push_back(node);
    if (potential.scope.empty())
      return Impossible{"nodes '" + problem.nodes[low].name + "' and '" + problem.nodes[high].name +
                        "' have one strategy left each, and those are an impossible pair"};
    result.potentials.push_back(std::move(potential));
    return std::nullopt;
  }

  /// The surviving part of a table, with rows for the earlier node; a side with one strategy is left out of the sizes.
  static DenseTable leafTable(const PairTable &table, bool forward, const StrategySet &low, const StrategySet &high) {
    llvm::SmallVector<uint32_t, 4> sizes;
    for (const StrategySet *side : {&low, &high})
      if (side->size() > 1)
        sizes.push_back(side->size());
    if (forward && low.size() == table.rows() && high.size() == table.columns())
      return {std::move(sizes), table.sharedCells()};
    std::vector<double> cells;
    cells.reserve(low.size() * high.size());
    for (uint32_t row : low)
      for (uint32_t column : high)
        cells.push_back(forward ? table.row(row)[column] : table.row(column)[row]);
    return {std::move(sizes), std::move(cells)};
  }

  const Problem &problem;
  ReducedProblem &result;
  HashInterner<UnaryTable, TableHash> unaries;
  HashInterner<DenseTable, TableHash, SameBits> leaves;
  std::map<LeafKey, uint32_t> known;                 ///< ids of leaves
  std::map<LeafKey, std::optional<DenseTable>> made; ///< leaves that have no id yet
};

} // namespace

Assignment ReducedProblem::expand(llvm::ArrayRef<uint32_t> chosen) const {
  Assignment assignment;
  for (auto [node, strategy] : llvm::enumerate(chosen))
    assignment.strategies.push_back(survivors.of(node)[strategy]);
  return assignment;
}

std::vector<uint32_t> ReducedProblem::compress(const Assignment &assignment) const {
  std::vector<uint32_t> chosen;
  for (auto [node, strategy] : llvm::enumerate(assignment.strategies)) {
    const std::vector<uint32_t> &own = survivors.of(node);
    auto found = llvm::lower_bound(own, strategy);
    chosen.push_back(found != own.end() && *found == strategy ? found - own.begin() : 0);
  }
  return chosen;
}

std::variant<ReducedProblem, Impossible> tablesOf(const Problem &problem, Survivors survivors, unsigned numThreads) {
  ReducedProblem result;
  result.survivors = std::move(survivors);
  if (std::optional<Impossible> impossible = TableBuilder(problem, result).run(numThreads))
    return *impossible;
  return result;
}

double reductionWork(const Problem &problem) {
  constexpr double perPair = 12;
  double pairs = 0;
  for (const PairTable &table : problem.pairTables)
    pairs += static_cast<double>(table.rows() * table.columns());
  return perPair * pairs;
}

std::variant<ReducedProblem, Impossible> reduceProblem(const Problem &problem, Dominance dominance,
                                                       const ReducedProblem *start, unsigned numThreads) {
  std::variant<Survivors, Impossible> pruned =
      pruneDominated(problem, dominance, start ? start->survivors : keepAll(problem), numThreads);
  if (const Impossible *impossible = std::get_if<Impossible>(&pruned))
    return *impossible;
  return tablesOf(problem, std::get<Survivors>(std::move(pruned)), numThreads);
}

} // namespace apc

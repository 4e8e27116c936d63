// The tables of the surviving strategies.
#include "ReducedProblem.h"

#include "apc/Support/Interner.h"

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
  static uint64_t hashOf(const std::vector<double> &numbers) {
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

  std::optional<Impossible> run() {
    addUnaries();
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

  std::optional<Impossible> addPotential(uint32_t index) {
    const Edge &edge = problem.edges[index];
    bool forward = edge.from < edge.to;
    uint32_t low = std::min(edge.from, edge.to).value, high = std::max(edge.from, edge.to).value;
    const Survivors &survivors = result.survivors;
    std::array<uint32_t, 4> key = {edge.table.value, forward, survivors.setOf[low], survivors.setOf[high]};
    auto [entry, isNew] = known.try_emplace(key, 0);
    if (isNew)
      entry->second = leaves.idOf(leafTable(problem.tableOf(edge), forward, survivors.of(low), survivors.of(high)));
    const DenseTable &leaf = leaves[entry->second];
    double first = leaf.cells.front();
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
    DenseTable leaf;
    for (const StrategySet *side : {&low, &high})
      if (side->size() > 1)
        leaf.sizes.push_back(side->size());
    leaf.cells.reserve(low.size() * high.size());
    for (uint32_t row : low)
      for (uint32_t column : high)
        leaf.cells.push_back(forward ? table.row(row)[column] : table.row(column)[row]);
    return leaf;
  }

  const Problem &problem;
  ReducedProblem &result;
  HashInterner<UnaryTable, TableHash> unaries;
  HashInterner<DenseTable, TableHash, SameBits> leaves;
  std::map<std::array<uint32_t, 4>, uint32_t> known; ///< leaf by (pair table, orientation, two sets of strategies)
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

std::variant<ReducedProblem, Impossible> tablesOf(const Problem &problem, Survivors survivors) {
  ReducedProblem result;
  result.survivors = std::move(survivors);
  if (std::optional<Impossible> impossible = TableBuilder(problem, result).run())
    return *impossible;
  return result;
}

std::variant<ReducedProblem, Impossible> reduceProblem(const Problem &problem, Dominance dominance,
                                                       const ReducedProblem *start) {
  std::variant<Survivors, Impossible> pruned =
      pruneDominated(problem, dominance, start ? start->survivors : keepAll(problem));
  if (const Impossible *impossible = std::get_if<Impossible>(&pruned))
    return *impossible;
  return tablesOf(problem, std::get<Survivors>(std::move(pruned)));
}

} // namespace apc

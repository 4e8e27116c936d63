// The tables of what shaving leaves.
#include "ReducedProblem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>

namespace apc::dp {

namespace {

using KeepSet = std::vector<uint32_t>;

/// Gives equal tables one id; ids count up in the order of first appearance.
template <typename Table>
class Interning {
public:
  uint32_t find(std::vector<Table> &tables, Table table, uint64_t hash) {
    std::vector<uint32_t> &candidates = byHash[hash];
    for (uint32_t id : candidates)
      if (same(tables[id], table))
        return id;
    tables.push_back(std::move(table));
    candidates.push_back(tables.size() - 1);
    return candidates.back();
  }

private:
  static bool same(const UnaryTable &a, const UnaryTable &b) { return a == b; }
  /// By bits: a NaN equals itself.
  static bool same(const DenseTable &a, const DenseTable &b) {
    return a.sizes == b.sizes && a.cells.size() == b.cells.size() &&
           std::memcmp(a.cells.data(), b.cells.data(), a.cells.size() * sizeof(double)) == 0;
  }

  std::unordered_map<uint64_t, std::vector<uint32_t>> byHash;
};

template <typename T>
uint64_t hashOf(const std::vector<T> &values) {
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(values.data()), values.size() * sizeof(T)));
}

/// Fills a reduction with the tables of the kept strategies.
class TableBuilder {
public:
  TableBuilder(const Problem &problem, Reduction &result) : problem(problem), result(result) {}

  void addUnaries() {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;
    for (size_t node = 0; node < problem.nodes.size(); ++node) {
      uint32_t table = problem.nodes[node].table.value, keep = result.keepOf[node];
      auto [entry, isNew] = known.try_emplace({table, keep}, 0);
      if (isNew)
        entry->second = addUnary(problem.nodeTables[table], result.keepSets[keep]);
      result.unaryOf.push_back(entry->second);
    }
  }

  std::optional<Impossible> addFactors() {
    for (const Edge &edge : problem.edges)
      if (std::optional<Impossible> impossible = addFactor(edge))
        return impossible;
    return std::nullopt;
  }

private:
  uint32_t addUnary(const NodeTable &table, const KeepSet &keep) {
    UnaryTable unary;
    for (uint32_t strategy : keep) {
      unary.seconds.push_back(table.costs[strategy].seconds);
      unary.persistentBytes.push_back(table.costs[strategy].persistentBytes);
      unary.transientBytes.push_back(table.costs[strategy].transientBytes);
    }
    uint64_t hash = hashOf(unary.seconds);
    return unaries.find(result.unaries, std::move(unary), hash);
  }

  std::optional<Impossible> addFactor(const Edge &edge) {
    bool forward = edge.from < edge.to;
    uint32_t low = std::min(edge.from, edge.to).value, high = std::max(edge.from, edge.to).value;
    std::array<uint32_t, 4> key = {edge.table.value, forward, result.keepOf[low], result.keepOf[high]};
    auto [entry, isNew] = known.try_emplace(key, 0);
    if (isNew)
      entry->second = addLeaf(problem.tableOf(edge), forward, result.keepSets[key[2]], result.keepSets[key[3]]);
    const DenseTable &leaf = result.leaves[entry->second];
    double first = leaf.cells.front();
    if (llvm::all_of(leaf.cells, [&](double cell) { return cell == first; })) {
      result.constantSeconds += first;
      return std::nullopt;
    }
    LeafFactor factor{entry->second, {}};
    for (uint32_t node : {low, high})
      if (result.keepSets[result.keepOf[node]].size() > 1)
        factor.scope.push_back(node);
    if (factor.scope.empty())
      return Impossible{"nodes '" + problem.nodes[low].name + "' and '" + problem.nodes[high].name +
                        "' have one strategy left each, and those are an impossible pair"};
    result.factors.push_back(std::move(factor));
    return std::nullopt;
  }

  /// The kept part of a table, rows for the earlier node; sides with one strategy are left out of the sizes.
  uint32_t addLeaf(const PairTable &table, bool forward, const KeepSet &low, const KeepSet &high) {
    DenseTable leaf;
    for (const KeepSet *keep : {&low, &high})
      if (keep->size() > 1)
        leaf.sizes.push_back(keep->size());
    leaf.cells.reserve(low.size() * high.size());
    for (uint32_t row : low)
      for (uint32_t column : high)
        leaf.cells.push_back(forward ? table.row(row)[column] : table.row(column)[row]);
    uint64_t hash = hashOf(leaf.cells);
    return leaves.find(result.leaves, std::move(leaf), hash);
  }

  const Problem &problem;
  Reduction &result;
  Interning<UnaryTable> unaries;
  Interning<DenseTable> leaves;
  std::map<std::array<uint32_t, 4>, uint32_t> known;
};

} // namespace

Assignment Reduction::expand(llvm::ArrayRef<uint32_t> kept) const {
  Assignment assignment;
  for (auto [node, strategy] : llvm::enumerate(kept))
    assignment.strategies.push_back(keepSets[keepOf[node]][strategy]);
  return assignment;
}

std::vector<uint32_t> Reduction::compress(const Assignment &assignment) const {
  std::vector<uint32_t> chosen;
  for (auto [node, strategy] : llvm::enumerate(assignment.strategies)) {
    const std::vector<uint32_t> &kept = keepSets[keepOf[node]];
    auto found = llvm::lower_bound(kept, strategy);
    chosen.push_back(found != kept.end() && *found == strategy ? found - kept.begin() : 0);
  }
  return chosen;
}

std::variant<Reduction, Impossible> tablesOf(const Problem &problem, Kept kept) {
  Reduction result;
  result.keepSets = std::move(kept.sets);
  result.keepOf = std::move(kept.setOf);
  TableBuilder builder(problem, result);
  builder.addUnaries();
  if (std::optional<Impossible> impossible = builder.addFactors())
    return *impossible;
  return result;
}

std::variant<Reduction, Impossible> reduce(const Problem &problem, Dominance dominance, const Reduction *start) {
  Kept all = start ? Kept{start->keepSets, start->keepOf} : keepAll(problem);
  std::variant<Kept, Impossible> kept = shave(problem, dominance, std::move(all));
  if (const Impossible *impossible = std::get_if<Impossible>(&kept))
    return *impossible;
  return tablesOf(problem, std::get<Kept>(std::move(kept)));
}

} // namespace apc::dp

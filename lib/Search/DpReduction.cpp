// Shaving by classes of identical nodes, and the tables that remain.
#include "DpReduction.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <unordered_map>

namespace apc::dp {

namespace {

using KeepSet = std::vector<uint32_t>;

/// How an edge looks from one of its nodes: the table, the side, and what the neighbour keeps.
struct Role {
  uint32_t table;
  bool isFrom;
  uint32_t neighbourKeep;

  friend auto operator<=>(const Role &, const Role &) = default;
};

/// What shaving a node depends on; nodes of one class are shaved alike. Roles are a set: a repeated one adds nothing.
struct NodeClass {
  uint32_t table;
  uint32_t keep;
  std::vector<Role> roles;

  friend auto operator<=>(const NodeClass &, const NodeClass &) = default;
};

class Shaving {
public:
  Shaving(const Problem &problem, Dominance dominance)
      : problem(problem), dominance(dominance), edgesOf(problem.nodes.size()) {
    for (const Edge &edge : problem.edges) {
      edgesOf[edge.from.index()].push_back(&edge);
      edgesOf[edge.to.index()].push_back(&edge);
    }
    for (size_t node = 0; node < problem.nodes.size(); ++node) {
      KeepSet all(problem.tableOf(NodeId(node)).costs.size());
      std::iota(all.begin(), all.end(), 0);
      keepOf.push_back(intern(std::move(all)));
    }
  }

  /// Empty when every node keeps a strategy; otherwise why one cannot.
  std::optional<Impossible> run() {
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<uint32_t> next = keepOf;
      for (size_t node = 0; node < keepOf.size(); ++node) {
        NodeClass nodeClass = classOf(node);
        auto [entry, isNew] = shaved.try_emplace(nodeClass, 0);
        if (isNew)
          entry->second = intern(shave(nodeClass));
        next[node] = entry->second;
        if (keepSets[next[node]].empty())
          return Impossible{"no strategy of node '" + problem.nodes[node].name +
                            "' is a possible pair with a strategy of each of its neighbours"};
        changed |= next[node] != keepOf[node];
      }
      keepOf = std::move(next);
    }
    return std::nullopt;
  }

  std::vector<KeepSet> takeKeepSets() { return std::move(keepSets); }
  std::vector<uint32_t> takeKeepOf() { return std::move(keepOf); }

private:
  uint32_t intern(KeepSet keep) {
    auto [entry, isNew] = idOfKeep.try_emplace(std::move(keep), keepSets.size());
    if (isNew)
      keepSets.push_back(entry->first);
    return entry->second;
  }

  NodeClass classOf(size_t node) const {
    NodeClass result{problem.nodes[node].table.value, keepOf[node], {}};
    for (const Edge *edge : edgesOf[node]) {
      bool isFrom = edge->from.index() == node;
      result.roles.push_back({edge->table.value, isFrom, keepOf[(isFrom ? edge->to : edge->from).index()]});
    }
    llvm::sort(result.roles);
    result.roles.erase(std::unique(result.roles.begin(), result.roles.end()), result.roles.end());
    return result;
  }

  /// Everything that one strategy costs, side by side: its own seconds (and bytes), then its pairs, role by role. Empty
  /// when it fits no strategy of some neighbour.
  std::vector<double> profile(const NodeClass &nodeClass, uint32_t strategy) const {
    const StrategyCost &cost = problem.nodeTables[nodeClass.table].costs[strategy];
    std::vector<double> result = {cost.seconds};
    if (dominance == Dominance::SecondsAndBytes)
      for (int64_t bytes : {cost.persistentBytes, cost.transientBytes})
        result.push_back(static_cast<double>(bytes));
    for (const Role &role : nodeClass.roles) {
      const PairTable &table = problem.pairTables[role.table];
      bool fits = false;
      for (uint32_t other : keepSets[role.neighbourKeep]) {
        double cell = role.isFrom ? table.row(strategy)[other] : table.row(other)[strategy];
        fits |= cell == cell;
        result.push_back(cell);
      }
      if (!fits)
        return {};
    }
    return result;
  }

  /// Is every number of `a` at most its number in `b`, where impossible is worse than all?
  static bool covers(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
    for (size_t index = 0; index < a.size(); ++index)
      if (!std::isnan(b[index]) && !(a[index] <= b[index]))
        return false;
    return true;
  }

  KeepSet shave(const NodeClass &nodeClass) const {
    KeepSet candidates;
    std::vector<std::vector<double>> profiles;
    for (uint32_t strategy : keepSets[nodeClass.keep]) {
      std::vector<double> costs = profile(nodeClass, strategy);
      if (costs.empty())
        continue;
      candidates.push_back(strategy);
      profiles.push_back(std::move(costs));
    }
    KeepSet kept;
    for (size_t a = 0; a < candidates.size(); ++a) {
      bool dominated = false;
      for (size_t b = 0; b < candidates.size() && !dominated; ++b)
        dominated = a != b && covers(profiles[b], profiles[a]) && (b < a || !covers(profiles[a], profiles[b]));
      if (!dominated)
        kept.push_back(candidates[a]);
    }
    return kept;
  }

  const Problem &problem;
  Dominance dominance;
  std::vector<llvm::SmallVector<const Edge *, 4>> edgesOf;
  std::vector<KeepSet> keepSets;
  std::map<KeepSet, uint32_t> idOfKeep;
  std::vector<uint32_t> keepOf;
  /// What each class keeps; classes that did not change are not looked at again.
  std::map<NodeClass, uint32_t> shaved;
};

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

std::variant<Reduction, Impossible> reduce(const Problem &problem, Dominance dominance) {
  Shaving shaving(problem, dominance);
  if (std::optional<Impossible> impossible = shaving.run())
    return *impossible;
  Reduction result;
  result.keepSets = shaving.takeKeepSets();
  result.keepOf = shaving.takeKeepOf();
  TableBuilder builder(problem, result);
  builder.addUnaries();
  if (std::optional<Impossible> impossible = builder.addFactors())
    return *impossible;
  return result;
}

} // namespace apc::dp

// Shaving by classes of identical nodes, and the tables that remain.
#include "DpReduction.h"

#include "PairKinds.h"

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
  Shaving(const Problem &problem, Dominance dominance, const Reduction *start)
      : problem(problem), dominance(dominance), edgesOf(problem.nodes.size()),
        neighbours(2 * problem.pairTables.size()) {
    for (const Edge &edge : problem.edges) {
      edgesOf[edge.from.index()].push_back(&edge);
      edgesOf[edge.to.index()].push_back(&edge);
    }
    if (start) {
      keepOf = start->keepOf;
      for (const KeepSet &keep : start->keepSets)
        intern(keep);
      return;
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

  /// The table of a role with a row for each strategy of the node.
  const ColumnKinds &neighboursOf(const Role &role) {
    std::optional<ColumnKinds> &entry = neighbours[2 * role.table + role.isFrom];
    if (!entry) {
      const PairTable &table = problem.pairTables[role.table];
      llvm::ArrayRef<double> cells(table.row(0).data(), table.rows() * table.columns());
      if (role.isFrom)
        entry.emplace(cells, table.rows(), table.columns());
      else
        entry.emplace(turned(cells, table.rows(), table.columns()), table.columns(), table.rows());
    }
    return *entry;
  }

  /// Above every price that `check` accepts: an impossible pair is worse than all.
  static constexpr double ceiling = 0x1p300;

  /// Everything that each strategy of `keep` costs, side by side: its own seconds (and bytes), then its pairs, role by
  /// role. `length` numbers each; strategies that fit no strategy of some neighbour are left out of `candidates`.
  struct Profiles {
    KeepSet candidates;
    std::vector<double> numbers;
    size_t length = 0;

    const double *of(size_t candidate) const { return numbers.data() + candidate * length; }
  };

  Profiles profilesOf(const NodeClass &nodeClass) {
    std::vector<std::pair<const ColumnKinds *, std::vector<uint32_t>>> roles;
    for (const Role &role : nodeClass.roles) {
      const ColumnKinds &table = neighboursOf(role);
      roles.emplace_back(&table, table.kindsAmong(keepSets[role.neighbourKeep]));
    }
    Profiles result;
    for (uint32_t strategy : keepSets[nodeClass.keep]) {
      size_t begin = result.numbers.size();
      const StrategyCost &cost = problem.nodeTables[nodeClass.table].costs[strategy];
      result.numbers.push_back(cost.seconds);
      if (dominance == Dominance::SecondsAndBytes)
        for (int64_t bytes : {cost.persistentBytes, cost.transientBytes})
          result.numbers.push_back(static_cast<double>(bytes));
      bool fitsAll = true;
      for (const auto &[table, kinds] : roles) {
        llvm::ArrayRef<double> pairs = table->row(strategy);
        bool fits = false;
        for (uint32_t kind : kinds) {
          bool possible = !std::isnan(pairs[kind]);
          fits |= possible;
          result.numbers.push_back(possible ? pairs[kind] : ceiling);
        }
        fitsAll &= fits;
      }
      result.length = result.numbers.size() - begin;
      if (fitsAll)
        result.candidates.push_back(strategy);
      else
        result.numbers.resize(begin);
    }
    return result;
  }

  /// Is every number of `a` at most its number in `b`?
  static bool covers(const double *a, const double *b, size_t length) {
    constexpr size_t block = 16;
    size_t index = 0;
    for (; index + block <= length; index += block) {
      int64_t above = 0;
      for (size_t i = index; i < index + block; ++i)
        above += a[i] > b[i];
      if (above)
        return false;
    }
    for (; index < length; ++index)
      if (a[index] > b[index])
        return false;
    return true;
  }

  /// For each candidate a number in which it is hard to cover: one that is the least of all, with as few equals as
  /// there are. Only those that are as good there need be looked at as a whole.
  static std::vector<uint32_t> witnesses(const Profiles &profiles) {
    size_t length = profiles.length, count = profiles.candidates.size();
    std::vector<double> least(profiles.of(0), profiles.of(0) + length);
    for (size_t own = 1; own < count; ++own)
      for (size_t index = 0; index < length; ++index)
        least[index] = std::min(least[index], profiles.of(own)[index]);
    std::vector<uint32_t> equals(length, 0), result;
    for (size_t own = 0; own < count; ++own)
      for (size_t index = 0; index < length; ++index)
        equals[index] += profiles.of(own)[index] == least[index];
    for (size_t own = 0; own < count; ++own) {
      uint32_t best = 0, fewest = count + 1;
      for (size_t index = 0; index < length; ++index)
        if (profiles.of(own)[index] == least[index] && equals[index] < fewest) {
          best = index;
          fewest = equals[index];
        }
      result.push_back(best);
    }
    return result;
  }

  KeepSet shave(const NodeClass &nodeClass) {
    Profiles profiles = profilesOf(nodeClass);
    if (profiles.candidates.empty())
      return {};
    std::vector<uint32_t> witness = witnesses(profiles);
    size_t length = profiles.length, count = profiles.candidates.size();
    // What covers another has no larger sum, as rounding keeps order; and what is covered at all is covered by one that
    // stays. So those with smaller sums come first and each is held against those that stay.
    std::vector<std::pair<double, uint32_t>> order;
    for (uint32_t own = 0; own < count; ++own)
      order.emplace_back(std::accumulate(profiles.of(own), profiles.of(own) + length, 0.0), own);
    llvm::sort(order);
    std::vector<uint32_t> staying;
    for (auto [sum, own] : order)
      if (llvm::none_of(staying, [&, own = own](uint32_t other) {
            return profiles.of(other)[witness[own]] <= profiles.of(own)[witness[own]] &&
                   covers(profiles.of(other), profiles.of(own), length);
          }))
        staying.push_back(own);
    llvm::sort(staying);
    KeepSet kept;
    for (uint32_t own : staying)
      kept.push_back(profiles.candidates[own]);
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
  std::vector<std::optional<ColumnKinds>> neighbours; ///< 2 * table + isFrom; made when asked for
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

std::vector<uint32_t> Reduction::compress(const Assignment &assignment) const {
  std::vector<uint32_t> chosen;
  for (auto [node, strategy] : llvm::enumerate(assignment.strategies)) {
    const std::vector<uint32_t> &kept = keepSets[keepOf[node]];
    auto found = llvm::lower_bound(kept, strategy);
    chosen.push_back(found != kept.end() && *found == strategy ? found - kept.begin() : 0);
  }
  return chosen;
}

std::variant<Reduction, Impossible> reduce(const Problem &problem, Dominance dominance, const Reduction *start) {
  Shaving shaving(problem, dominance, start);
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

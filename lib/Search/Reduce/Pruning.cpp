// Shaving by classes of identical nodes. What a table does not tell apart is compared once.
#include "Pruning.h"

#include "PairView.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <map>
#include <numeric>
#include <tuple>

namespace apc::dp {

namespace {

using KeepSet = std::vector<uint32_t>;

/// How an edge looks from one of its nodes: the table, the side, and the kinds of columns that the neighbour keeps.
struct Role {
  uint32_t table;
  bool isFrom;
  uint32_t columns;

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
  Shaving(const Problem &problem, Dominance dominance, Kept start)
      : problem(problem), dominance(dominance), edgesOf(problem.nodes.size()), kept(std::move(start)),
        pairsOf(2 * problem.pairTables.size()) {
    for (const Edge &edge : problem.edges) {
      edgesOf[edge.from.index()].push_back(&edge);
      edgesOf[edge.to.index()].push_back(&edge);
    }
    for (auto [id, set] : llvm::enumerate(kept.sets))
      idOfSet.try_emplace(set, id);
  }

  /// Empty when every node keeps a strategy; otherwise why one cannot.
  std::optional<Impossible> run() {
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<uint32_t> next = kept.setOf;
      for (size_t node = 0; node < next.size(); ++node) {
        NodeClass nodeClass = classOf(node);
        auto [entry, isNew] = shaved.try_emplace(nodeClass, 0);
        if (isNew) {
          entry->second = intern(idOfSet, kept.sets, shave(nodeClass));
          // Those that stay do not cover one another.
          nodeClass.keep = next[node] = entry->second;
          shaved.try_emplace(std::move(nodeClass), next[node]);
        }
        next[node] = entry->second;
        if (kept.sets[next[node]].empty())
          return Impossible{"no strategy of node '" + problem.nodes[node].name +
                            "' is a possible pair with a strategy of each of its neighbours"};
        changed |= next[node] != kept.setOf[node];
      }
      kept.setOf = std::move(next);
    }
    return std::nullopt;
  }

  Kept take() { return std::move(kept); }

private:
  static uint32_t intern(std::map<KeepSet, uint32_t> &ids, std::vector<KeepSet> &sets, KeepSet set) {
    auto [entry, isNew] = ids.try_emplace(std::move(set), sets.size());
    if (isNew)
      sets.push_back(entry->first);
    return entry->second;
  }

  NodeClass classOf(size_t node) {
    NodeClass result{problem.nodes[node].table.value, kept.setOf[node], {}};
    for (const Edge *edge : edgesOf[node]) {
      bool isFrom = edge->from.index() == node;
      uint32_t neighbourKeep = kept.setOf[(isFrom ? edge->to : edge->from).index()];
      result.roles.push_back({edge->table.value, isFrom, columnsOf({edge->table.value, isFrom, neighbourKeep})});
    }
    llvm::sort(result.roles);
    result.roles.erase(std::unique(result.roles.begin(), result.roles.end()), result.roles.end());
    return result;
  }

  /// A table with a row for each strategy of the node that `isFrom`, or is not.
  const PairsByKind &pairs(uint32_t id, bool isFrom) {
    std::optional<PairsByKind> &entry = pairsOf[2 * id + isFrom];
    if (entry)
      return *entry;
    const std::optional<PairsByKind> &other = pairsOf[2 * id + !isFrom];
    if (other)
      return entry.emplace(turned(*other));
    const PairTable &table = problem.pairTables[id];
    PairsByKind grouped =
        groupKinds({table.row(0).data(), table.rows() * table.columns()}, table.rows(), table.columns());
    return entry.emplace(isFrom ? std::move(grouped) : turned(grouped));
  }

  /// The set of kinds of columns that a neighbour keeps, in the table with that id and side.
  uint32_t columnsOf(const std::tuple<uint32_t, bool, uint32_t> &tableSideAndKeep) {
    auto [entry, isNew] = columnsOfKeep.try_emplace(tableSideAndKeep, 0);
    if (!isNew)
      return entry->second;
    auto [table, isFrom, keep] = tableSideAndKeep;
    const PairsByKind &kinds = pairs(table, isFrom);
    std::vector<bool> isKept(kinds.numColumns, false);
    for (uint32_t strategy : kept.sets[keep])
      isKept[kinds.columnKindOf[strategy]] = true;
    KeepSet columns;
    for (uint32_t column = 0; column < isKept.size(); ++column)
      if (isKept[column])
        columns.push_back(column);
    return entry->second = intern(idOfColumns, columnSets, std::move(columns));
  }

  PairView &viewOf(const Role &role) {
    auto found = views.find(role);
    if (found != views.end())
      return found->second;
    found = views.try_emplace(role, pairs(role.table, role.isFrom), columnSets[role.columns]).first;
    viewBytes += found->second.numBytes();
    return found->second;
  }

  void forgetViews() {
    constexpr size_t maxBytes = 1 << 25;
    if (viewBytes <= maxBytes)
      return;
    views.clear();
    viewBytes = 0;
  }

  struct Candidate {
    Total total;
    int64_t bytes; ///< where they count
    uint32_t strategy;

    friend auto operator<=>(const Candidate &, const Candidate &) = default;
  };

  /// Strategies of a class side by side: what each costs by itself, and its kind in each role.
  struct Columns {
    std::array<std::vector<double>, 3> own; ///< seconds, and bytes where they count
    std::vector<std::vector<uint32_t>> kinds;

    void add(const StrategyCost &cost, llvm::ArrayRef<PairView *> roles, uint32_t strategy) {
      own[0].push_back(cost.seconds);
      own[1].push_back(static_cast<double>(cost.persistentBytes));
      own[2].push_back(static_cast<double>(cost.transientBytes));
      for (auto [role, kind] : llvm::zip_equal(roles, kinds))
        kind.push_back(role->kindOf(strategy));
    }
    void removeLast() {
      for (std::vector<double> &numbers : own)
        numbers.pop_back();
      for (std::vector<uint32_t> &kind : kinds)
        kind.pop_back();
    }
  };

  llvm::ArrayRef<StrategyCost> costsOf(const NodeClass &nodeClass) const {
    return problem.nodeTables[nodeClass.table].costs;
  }
  size_t numOwn() const { return dominance == Dominance::SecondsAndBytes ? 3 : 1; }

  /// Those that fit some strategy of each neighbour, the least totals first.
  std::vector<Candidate> candidatesOf(const NodeClass &nodeClass, llvm::ArrayRef<PairView *> roles) const {
    std::vector<Candidate> result;
    for (uint32_t strategy : kept.sets[nodeClass.keep]) {
      const StrategyCost &cost = costsOf(nodeClass)[strategy];
      int64_t bytes = numOwn() > 1 ? cost.persistentBytes + cost.transientBytes : 0;
      Candidate candidate{{0, cost.seconds}, bytes, strategy};
      bool fitsAll = true;
      for (const PairView *role : roles) {
        candidate.total += role->totalOf(role->kindOf(strategy));
        fitsAll &= role->fits(role->kindOf(strategy));
      }
      if (fitsAll)
        result.push_back(candidate);
    }
    llvm::sort(result);
    return result;
  }

  /// Does one of `staying` cover what comes last in `columns`?
  bool isCovered(const Columns &columns, size_t numStaying, llvm::ArrayRef<PairView *> roles) {
    covering.resize(numStaying);
    std::iota(covering.begin(), covering.end(), 0);
    for (size_t number = 0; number < numOwn(); ++number)
      keepThose([&, &own = columns.own[number]](uint32_t other) { return own[other] <= own[numStaying]; });
    for (size_t role = 0; role < roles.size(); ++role)
      keepThose([&, &kinds = columns.kinds[role]](uint32_t other) {
        return roles[role]->covers(kinds[other], kinds[numStaying]);
      });
    return !covering.empty();
  }

  template <typename Predicate>
  void keepThose(Predicate predicate) {
    size_t count = 0;
    for (uint32_t other : covering) {
      covering[count] = other;
      count += predicate(other);
    }
    covering.resize(count);
  }

  /// What covers another has no larger total, and what is covered at all is covered by one that stays. So those with
  /// smaller totals come first and each is held against those that stay.
  KeepSet shave(const NodeClass &nodeClass) {
    forgetViews();
    llvm::SmallVector<PairView *> roles;
    for (const Role &role : nodeClass.roles)
      roles.push_back(&viewOf(role));
    Columns staying;
    staying.kinds.resize(roles.size());
    KeepSet keep;
    for (const Candidate &candidate : candidatesOf(nodeClass, roles)) {
      staying.add(costsOf(nodeClass)[candidate.strategy], roles, candidate.strategy);
      if (isCovered(staying, keep.size(), roles))
        staying.removeLast();
      else
        keep.push_back(candidate.strategy);
    }
    llvm::sort(keep);
    return keep;
  }

  const Problem &problem;
  Dominance dominance;
  std::vector<llvm::SmallVector<const Edge *, 4>> edgesOf;
  Kept kept;
  std::map<KeepSet, uint32_t> idOfSet, idOfColumns;
  std::vector<KeepSet> columnSets; ///< of kinds of columns
  /// What each class keeps; classes that did not change are not looked at again.
  std::map<NodeClass, uint32_t> shaved;
  std::vector<std::optional<PairsByKind>> pairsOf; ///< 2 * table + isFrom; made when asked for
  std::map<std::tuple<uint32_t, bool, uint32_t>, uint32_t> columnsOfKeep;
  std::map<Role, PairView> views; ///< as many as there is room for
  size_t viewBytes = 0;
  std::vector<uint32_t> covering; ///< room for those that may cover one candidate
};

} // namespace

Kept keepAll(const Problem &problem) {
  Kept kept;
  std::map<size_t, uint32_t> bySize;
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    size_t size = problem.tableOf(NodeId(node)).costs.size();
    auto [entry, isNew] = bySize.try_emplace(size, kept.sets.size());
    if (isNew) {
      kept.sets.emplace_back(size);
      std::iota(kept.sets.back().begin(), kept.sets.back().end(), 0);
    }
    kept.setOf.push_back(entry->second);
  }
  return kept;
}

std::variant<Kept, Impossible> shave(const Problem &problem, Dominance dominance, Kept start) {
  Shaving shaving(problem, dominance, std::move(start));
  if (std::optional<Impossible> impossible = shaving.run())
    return *impossible;
  return shaving.take();
}

} // namespace apc::dp

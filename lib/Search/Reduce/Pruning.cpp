// Pruning by classes of identical nodes. Strategies that a table does not tell apart are compared once.
#include "Pruning.h"

#include "Incidences.h"
#include "PairView.h"

#include "apc/Support/Interner.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <map>
#include <numeric>
#include <tuple>

namespace apc {

namespace {

using StrategySet = std::vector<uint32_t>;

/// An edge as one of its nodes sees it: the table, the side, and the kinds of columns that the neighbour still has.
struct Role {
  uint32_t table;
  bool isProducer;
  uint32_t columns;

  friend auto operator<=>(const Role &, const Role &) = default;
};

/// Everything that the pruning of a node depends on; nodes of one class keep the same strategies. Roles are a set: a
/// repeated role adds nothing.
struct NodeClass {
  uint32_t table;
  uint32_t strategies; ///< a set of strategies
  std::vector<Role> roles;

  friend auto operator<=>(const NodeClass &, const NodeClass &) = default;
};

class Pruning {
public:
  Pruning(const Problem &problem, Dominance dominance, Survivors start, unsigned numThreads)
      : problem(problem), dominance(dominance), numThreads(numThreads), incidences(incidencesOf(problem)),
        setOf(std::move(start.setOf)), sides(2 * problem.pairTables.size()), pairsOf(2 * problem.pairTables.size()) {
    for (StrategySet &set : start.sets)
      sets.idOf(std::move(set));
    findSides();
  }

  /// Empty when every node keeps a strategy; otherwise the reason why one node cannot.
  std::optional<Impossible> run() {
    if (numThreads > 1)
      makePairs();
    classes.resize(setOf.size());
    std::vector<uint32_t> open(setOf.size());
    std::iota(open.begin(), open.end(), 0);
    while (!open.empty()) {
      pruneNew(open);
      std::vector<uint32_t> changed;
      for (uint32_t node : open) {
        uint32_t next = classes[node]->second;
        if (sets[next].empty())
          return Impossible{"no strategy of node '" + problem.nodes[node].name +
                            "' is a possible pair with a strategy of each of its neighbours"};
        if (next != setOf[node])
          changed.push_back(node);
        setOf[node] = next;
      }
      open = withNeighbours(changed);
    }
    return std::nullopt;
  }

  Survivors take() { return {sets.take(), std::move(setOf)}; }

private:
  /// In ascending order, each once: the nodes whose classes change when \p nodes do.
  std::vector<uint32_t> withNeighbours(llvm::ArrayRef<uint32_t> nodes) const {
    std::vector<bool> isMet(setOf.size(), false);
    for (uint32_t node : nodes) {
      isMet[node] = true;
      for (const Incidence &end : incidences[node])
        isMet[end.other] = true;
    }
    std::vector<uint32_t> all;
    for (uint32_t node = 0; node < isMet.size(); ++node)
      if (isMet[node])
        all.push_back(node);
    return all;
  }

  NodeClass classOf(size_t node) {
    NodeClass result{problem.nodes[node].table.value, setOf[node], {}};
    for (const Incidence &end : incidences[node]) {
      uint32_t table = end.tableId.value;
      result.roles.push_back({table, end.isProducer, columnsOf(table, end.isProducer, setOf[end.other])});
    }
    llvm::sort(result.roles);
    result.roles.erase(std::unique(result.roles.begin(), result.roles.end()), result.roles.end());
    return result;
  }

  /// A table with a row for each strategy of its producer, or of its consumer.
  const PairsByKind &pairs(uint32_t id, bool isProducer) {
    std::optional<PairsByKind> &entry = pairsOf[2 * id + isProducer];
    if (entry)
      return *entry;
    const std::optional<PairsByKind> &other = pairsOf[2 * id + !isProducer];
    if (other)
      return entry.emplace(transposed(*other));
    PairsByKind grouped = groupSurviving(problem.pairTables[id], sides[2 * id + 1], sides[2 * id]);
    return entry.emplace(isProducer ? std::move(grouped) : transposed(grouped));
  }

  /// The strategies that nodes on the two sides of each table have at the start.
  void findSides() {
    std::vector<std::vector<uint32_t>> setsOf(sides.size());
    for (const Edge &edge : problem.edges) {
      setsOf[2 * edge.table.index() + 1].push_back(setOf[edge.from.index()]);
      setsOf[2 * edge.table.index()].push_back(setOf[edge.to.index()]);
    }
    for (auto [side, own] : llvm::zip_equal(sides, setsOf)) {
      llvm::sort(own);
      own.erase(llvm::unique(own), own.end());
      for (uint32_t set : own)
        llvm::append_range(side, sets[set]);
      llvm::sort(side);
      side.erase(llvm::unique(side), side.end());
    }
  }

  /// Kinds among these rows and columns alone; of others, the kind says nothing.
  static PairsByKind groupSurviving(const PairTable &table, llvm::ArrayRef<uint32_t> rows,
                                    llvm::ArrayRef<uint32_t> columns) {
    if (rows.size() == table.rows() && columns.size() == table.columns())
      return groupKinds({table.row(0).data(), rows.size() * columns.size()}, rows.size(), columns.size());
    std::vector<double> cells;
    cells.reserve(rows.size() * columns.size());
    for (uint32_t row : rows)
      for (uint32_t column : columns)
        cells.push_back(table.row(row)[column]);
    PairsByKind grouped = groupKinds(cells, rows.size(), columns.size());
    if (grouped.copied.empty())
      grouped.copied = std::move(cells); // `cells` of the kinds stay where they are
    grouped.rowKindOf = ofAll(grouped.rowKindOf, rows, table.rows());
    grouped.columnKindOf = ofAll(grouped.columnKindOf, columns, table.columns());
    return grouped;
  }

  static std::vector<uint32_t> ofAll(llvm::ArrayRef<uint32_t> kindOf, llvm::ArrayRef<uint32_t> strategies,
                                     size_t numAll) {
    std::vector<uint32_t> all(numAll, 0);
    for (auto [strategy, kind] : llvm::zip_equal(strategies, kindOf))
      all[strategy] = kind;
    return all;
  }

  /// The set of kinds of columns that a neighbour with a set of strategies still has.
  uint32_t columnsOf(uint32_t table, bool isProducer, uint32_t set) {
    auto [entry, isNew] = columnsOfSet.try_emplace({2 * table + isProducer, set}, 0);
    if (!isNew)
      return entry->second;
    const PairsByKind &kinds = pairs(table, isProducer);
    std::vector<bool> isKept(kinds.numColumns, false);
    for (uint32_t strategy : sets[set])
      isKept[kinds.columnKindOf[strategy]] = true;
    StrategySet columns;
    for (uint32_t column = 0; column < isKept.size(); ++column)
      if (isKept[column])
        columns.push_back(column);
    return entry->second = columnSets.idOf(std::move(columns));
  }

  /// Of all tables, side by side.
  void makePairs() {
    std::vector<uint32_t> tables;
    for (const Edge &edge : problem.edges)
      tables.push_back(edge.table.value);
    llvm::sort(tables);
    tables.erase(llvm::unique(tables), tables.end());
    forEach(tables.size(), numThreads, [&](size_t index) {
      for (bool isProducer : {true, false})
        pairs(tables[index], isProducer);
    });
  }

  /// Sets the classes of \p nodes, and prunes those that are not known yet, as many side by side as their views may
  /// take memory.
  void pruneNew(llvm::ArrayRef<uint32_t> nodes) {
    std::vector<const NodeClass *> open;
    for (uint32_t node : nodes) {
      auto [entry, isNew] = pruned.try_emplace(classOf(node), 0);
      classes[node] = entry;
      if (isNew)
        open.push_back(&entry->first);
    }
    for (llvm::ArrayRef<const NodeClass *> rest = open; !rest.empty();) {
      size_t count = makeViews(rest);
      std::vector<StrategySet> kept(count);
      forEach(count, numThreads, [&](size_t index) { kept[index] = prune(*rest[index]); });
      for (size_t index = 0; index < count; ++index) {
        NodeClass nodeClass = *rest[index];
        uint32_t set = pruned[nodeClass] = sets.idOf(std::move(kept[index]));
        // The strategies that are kept do not dominate each other: pruning them again keeps all.
        nodeClass.strategies = set;
        pruned.try_emplace(std::move(nodeClass), set);
      }
      rest = rest.drop_front(count);
    }
  }

  /// The views of the first of \p classes, at least of one. Returns of how many.
  size_t makeViews(llvm::ArrayRef<const NodeClass *> classes) {
    constexpr size_t maxBytes = 1 << 25;
    if (viewBytes > maxBytes) {
      views.clear();
      viewBytes = 0;
    }
    std::vector<std::pair<const Role, std::optional<PairView>> *> open;
    size_t count = 0;
    for (; count < classes.size() && (count == 0 || viewBytes <= maxBytes); ++count)
      for (const Role &role : classes[count]->roles)
        if (auto [entry, isNew] = views.try_emplace(role); isNew) {
          open.push_back(&*entry);
          viewBytes += PairView::numBytes(pairs(role.table, role.isProducer), columnSets[role.columns]);
        }
    forEach(open.size(), numThreads, [&](size_t index) {
      auto &[role, view] = *open[index];
      view.emplace(pairs(role.table, role.isProducer), columnSets[role.columns]);
    });
    return count;
  }

  struct Candidate {
    Total total;
    int64_t bytes; ///< 0 where bytes do not count
    uint32_t strategy;

    friend auto operator<=>(const Candidate &, const Candidate &) = default;
  };

  /// Strategies of a class side by side: the own costs of each, and its kind in each role.
  struct Columns {
    std::array<std::vector<double>, 3> own; ///< seconds, persistent and transient bytes
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
  /// How many of the own costs count.
  size_t numOwn() const { return dominance == Dominance::SecondsAndBytes ? 3 : 1; }

  /// The strategies that have a possible pair with each neighbour, the smallest totals first.
  std::vector<Candidate> candidatesOf(const NodeClass &nodeClass, llvm::ArrayRef<PairView *> roles) const {
    std::vector<Candidate> result;
    for (uint32_t strategy : sets[nodeClass.strategies]) {
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

  /// Does one of the first `numStaying` strategies in `columns` dominate the last one?
  bool isDominated(const Columns &columns, size_t numStaying, llvm::ArrayRef<PairView *> roles,
                   std::vector<uint32_t> &dominating) const {
    dominating.resize(numStaying);
    std::iota(dominating.begin(), dominating.end(), 0);
    for (size_t number = 0; number < numOwn(); ++number)
      keepIf(dominating, [&, &own = columns.own[number]](uint32_t other) { return own[other] <= own[numStaying]; });
    for (size_t role = 0; role < roles.size(); ++role)
      keepIf(dominating, [&, &kinds = columns.kinds[role]](uint32_t other) {
        return roles[role]->dominates(kinds[other], kinds[numStaying]);
      });
    return !dominating.empty();
  }

  template <typename Predicate>
  static void keepIf(std::vector<uint32_t> &dominating, Predicate predicate) {
    size_t count = 0;
    for (uint32_t other : dominating) {
      dominating[count] = other;
      count += predicate(other);
    }
    dominating.resize(count);
  }

  /// A dominating strategy never has a larger total, and every dominated strategy is dominated by one that is kept. So
  /// candidates are visited by ascending total, and each is compared with the kept ones only.
  StrategySet prune(const NodeClass &nodeClass) {
    llvm::SmallVector<PairView *> roles;
    for (const Role &role : nodeClass.roles)
      roles.push_back(&*views.at(role));
    std::vector<uint32_t> dominating; // strategies that may still dominate one candidate
    Columns staying;
    staying.kinds.resize(roles.size());
    StrategySet kept;
    for (const Candidate &candidate : candidatesOf(nodeClass, roles)) {
      staying.add(costsOf(nodeClass)[candidate.strategy], roles, candidate.strategy);
      if (isDominated(staying, kept.size(), roles, dominating))
        staying.removeLast();
      else
        kept.push_back(candidate.strategy);
    }
    llvm::sort(kept);
    return kept;
  }

  const Problem &problem;
  Dominance dominance;
  unsigned numThreads;
  Incidences incidences;
  Interner<StrategySet> sets;
  std::vector<uint32_t> setOf;      ///< by node
  Interner<StrategySet> columnSets; ///< of kinds of columns
  /// The strategies that each class keeps; a class that did not change is not pruned again.
  std::map<NodeClass, uint32_t> pruned;
  std::vector<std::map<NodeClass, uint32_t>::const_iterator> classes;   ///< by node, in `pruned`
  std::vector<StrategySet> sides;                                       ///< 2 * table + isProducer: those of the start
  std::vector<std::optional<PairsByKind>> pairsOf;                      ///< 2 * table + isProducer; made on demand
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> columnsOfSet; ///< by side and set
  std::map<Role, std::optional<PairView>> views;                        ///< a cache of limited size
  size_t viewBytes = 0;
};

} // namespace

Survivors keepAll(const Problem &problem) {
  Survivors survivors;
  Interner<size_t> sizes;
  for (size_t node = 0; node < problem.nodes.size(); ++node)
    survivors.setOf.push_back(sizes.idOf(problem.tableOf(NodeId(node)).costs.size()));
  for (size_t size : sizes.take()) {
    survivors.sets.emplace_back(size);
    std::iota(survivors.sets.back().begin(), survivors.sets.back().end(), 0);
  }
  return survivors;
}

std::variant<Survivors, Impossible> pruneDominated(const Problem &problem, Dominance dominance, Survivors start,
                                                   unsigned numThreads) {
  Pruning pruning(problem, dominance, std::move(start), numThreads);
  if (std::optional<Impossible> impossible = pruning.run())
    return *impossible;
  return pruning.take();
}

} // namespace apc

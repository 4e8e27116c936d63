// Axes of the mesh, nodes by importance, and sets of remaining strategies that nodes share.
#include "DoubleRecursion.h"

#include "../Local/MoveCost.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace apc {

namespace {

/// The strategies that some nodes have left after some axes. Nodes with the same decisions share a set.
struct Remaining {
  const NodeTable *table;
  llvm::ArrayRef<uint32_t> survivors; ///< of the node; `strategies` are numbered within them
  std::vector<uint32_t> strategies;
  std::vector<uint32_t> counted; ///< the strategies that the outlook counts
  std::vector<uint32_t> parts;   ///< one set for each use of the next axis; empty until needed
};

/// The number of impossible pairs, then seconds.
using Cost = std::pair<int32_t, double>;

class Bisection {
public:
  Bisection(const Problem &problem, const WeightedProblem &weighted, Outlook outlook)
      : problem(problem), weighted(weighted), outlook(outlook) {
    for (const NodeTable &table : problem.nodeTables)
      numAxes = std::max(numAxes, table.axes.empty() ? 0 : table.axes.front().size());
    chosen.assign(weighted.numNodes(), open);
    addRoots();
  }

  std::vector<uint32_t> run() {
    std::vector<uint32_t> order = byImportance();
    for (size_t axis = 0; axis < numAxes; ++axis)
      for (uint32_t node : order)
        setOf[node] = decide(node, axis);
    for (uint32_t node : order)
      chosen[node] = choose(node);
    return std::move(chosen);
  }

private:
  void addRoots() {
    const ReducedProblem &reduced = weighted.getReduced();
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> roots;
    for (size_t node = 0; node < weighted.numNodes(); ++node) {
      uint32_t table = problem.nodes[node].table.value, survivors = reduced.survivors.setOf[node];
      auto [entry, isNew] = roots.try_emplace({table, survivors}, sets.size());
      if (isNew) {
        std::vector<uint32_t> all(reduced.survivors.of(node).size());
        std::iota(all.begin(), all.end(), 0);
        add({&problem.nodeTables[table], reduced.survivors.of(node), std::move(all), {}, {}}, 0);
      }
      setOf.push_back(entry->second);
    }
  }

  /// A set of strategies among which the axes from \p axis on are still open.
  uint32_t add(Remaining set, size_t axis) {
    auto isIdleFrom = [&](uint32_t strategy) {
      llvm::ArrayRef<uint32_t> axes = set.table->axes[set.survivors[strategy]];
      return llvm::all_of(axes.drop_front(axis), [](uint32_t digit) { return digit == 0; });
    };
    if (outlook == Outlook::Idle && axis < numAxes && !set.table->axes.empty())
      llvm::copy_if(set.strategies, std::back_inserter(set.counted), isIdleFrom);
    if (set.counted.empty())
      set.counted = set.strategies;
    sets.push_back(std::move(set));
    return sets.size() - 1;
  }

  std::vector<uint32_t> byImportance() const {
    std::vector<double> importance;
    for (size_t node = 0; node < weighted.numNodes(); ++node) {
      double largest = 0;
      for (double seconds : weighted.own(node))
        largest = seconds > largest ? seconds : largest;
      importance.push_back(largest);
    }
    std::vector<uint32_t> order(importance.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(order, [&](uint32_t a, uint32_t b) { return importance[a] > importance[b]; });
    return order;
  }

  /// The sets that the uses of an axis leave, in the order of the numbers of the uses.
  llvm::ArrayRef<uint32_t> partsOf(uint32_t id, size_t axis) {
    if (!sets[id].parts.empty())
      return sets[id].parts;
    std::map<uint32_t, std::vector<uint32_t>> byUse;
    for (uint32_t strategy : sets[id].strategies) {
      const auto &axes = sets[id].table->axes;
      constexpr uint32_t idle = 0;
      byUse[axes.empty() ? idle : axes[sets[id].survivors[strategy]][axis]].push_back(strategy);
    }
    std::vector<uint32_t> parts;
    for (auto &[use, strategies] : byUse)
      parts.push_back(add({sets[id].table, sets[id].survivors, std::move(strategies), {}, {}}, axis + 1));
    sets[id].parts = std::move(parts);
    return sets[id].parts;
  }

  /// The set that the cheapest use of the axis leaves.
  uint32_t decide(size_t node, size_t axis) {
    uint32_t set = setOf[node];
    llvm::ArrayRef<uint32_t> parts = partsOf(set, axis);
    if (parts.size() == 1)
      return parts.front();
    collect(node);
    std::optional<Cost> best;
    uint32_t bestPart = parts.front();
    for (uint32_t part : parts)
      for (uint32_t strategy : sets[part].counted) {
        Cost cost = costOf(strategy);
        if (best && !(cost < *best))
          continue;
        best = cost;
        bestPart = part;
      }
    return bestPart;
  }

  /// The last choice, among the strategies that all axes have left.
  uint32_t choose(size_t node) {
    llvm::ArrayRef<uint32_t> strategies = sets[setOf[node]].strategies;
    if (strategies.size() == 1)
      return strategies.front();
    collect(node);
    return *llvm::min_element(strategies, [&](uint32_t a, uint32_t b) { return costOf(a) < costOf(b); });
  }

  /// Computes the cost of every strategy of `node`.
  void collect(size_t node) {
    costs.start(weighted.own(node));
    for (const WeightedEnd &end : weighted.ends(node))
      costs.add(leastPairs(end), true);
  }

  Cost costOf(uint32_t strategy) const { return {costs.impossible[strategy], costs.seconds[strategy]}; }

  /// For every strategy of a node: the minimum over the remaining strategies of the neighbour; a NaN where all pairs
  /// are impossible.
  llvm::ArrayRef<double> leastPairs(const WeightedEnd &end) {
    uint32_t set = setOf[end.other];
    if (chosen[end.other] != open)
      return weighted.pairs(end, chosen[end.other]);
    llvm::ArrayRef<uint32_t> counted = sets[set].counted;
    if (counted.size() == 1)
      return weighted.pairs(end, counted.front());
    size_t size = weighted.pairs(end, 0).size();
    auto [entry, isNew] = leastRows.try_emplace(uint64_t(end.rows) << 32 | set, rows.size());
    if (isNew) {
      rows.resize(rows.size() + size, std::numeric_limits<double>::quiet_NaN());
      llvm::MutableArrayRef<double> least = llvm::MutableArrayRef(rows).take_back(size);
      for (uint32_t strategy : counted)
        for (auto [value, cell] : llvm::zip_equal(least, weighted.pairs(end, strategy)))
          value = value <= cell || cell != cell ? value : cell;
    }
    return llvm::ArrayRef(rows).slice(entry->second, size);
  }

  static constexpr uint32_t open = ~0u;

  const Problem &problem;
  const WeightedProblem &weighted;
  Outlook outlook;
  size_t numAxes = 0;
  std::vector<Remaining> sets;
  std::vector<uint32_t> setOf;                ///< for each node
  std::vector<uint32_t> chosen;               ///< for each node; `open` before the last round
  llvm::DenseMap<uint64_t, size_t> leastRows; ///< by table and set: the begin of its minima in `rows`
  std::vector<double> rows;
  StrategyCosts costs; ///< of one node
};

} // namespace

std::vector<uint32_t> bisectAxes(const Problem &problem, const WeightedProblem &weighted, Outlook outlook) {
  return Bisection(problem, weighted, outlook).run();
}

} // namespace apc

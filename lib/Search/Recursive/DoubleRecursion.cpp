// Levels of the mesh, nodes by importance, shared sets of what is left to choose.
#include "DoubleRecursion.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace apc {

namespace {

/// What some nodes have left to choose after some levels; nodes that have decided alike share one.
struct Left {
  const NodeTable *table;
  llvm::ArrayRef<uint32_t> kept; ///< all kept strategies of the node, by which `strategies` counts
  std::vector<uint32_t> strategies;
  std::vector<uint32_t> priced; ///< those of them that the outlook looks at
  std::vector<uint32_t> parts;  ///< one for each use of the next axis; empty until asked for
};

/// Impossible parts, then seconds.
using Price = std::pair<uint32_t, double>;

class Bisection {
public:
  Bisection(const Problem &problem, const Landscape &landscape, Outlook outlook)
      : problem(problem), landscape(landscape), outlook(outlook) {
    for (const NodeTable &table : problem.nodeTables)
      numAxes = std::max(numAxes, table.axes.empty() ? 0 : table.axes.front().size());
    chosen.assign(landscape.numNodes(), open);
    addRoots();
  }

  std::vector<uint32_t> run() {
    std::vector<uint32_t> order = byImportance();
    for (size_t level = 0; level < numAxes; ++level)
      for (uint32_t node : order)
        leftOf[node] = decide(node, level);
    for (uint32_t node : order)
      chosen[node] = choose(node);
    return std::move(chosen);
  }

private:
  void addRoots() {
    const dp::Reduction &reduction = landscape.getReduction();
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> roots;
    for (size_t node = 0; node < landscape.numNodes(); ++node) {
      uint32_t table = problem.nodes[node].table.value, keep = reduction.keepOf[node];
      auto [entry, isNew] = roots.try_emplace({table, keep}, lefts.size());
      if (isNew) {
        std::vector<uint32_t> all(reduction.keepSets[keep].size());
        std::iota(all.begin(), all.end(), 0);
        add({&problem.nodeTables[table], reduction.keepSets[keep], std::move(all), {}, {}}, 0);
      }
      leftOf.push_back(entry->second);
    }
  }

  /// What is left before `level` is decided.
  uint32_t add(Left left, size_t level) {
    auto isIdleFrom = [&](uint32_t strategy) {
      llvm::ArrayRef<uint32_t> axes = left.table->axes[left.kept[strategy]];
      return llvm::all_of(axes.drop_front(level), [](uint32_t digit) { return digit == 0; });
    };
    if (outlook == Outlook::Idle && level < numAxes && !left.table->axes.empty())
      llvm::copy_if(left.strategies, std::back_inserter(left.priced), isIdleFrom);
    if (left.priced.empty())
      left.priced = left.strategies;
    lefts.push_back(std::move(left));
    return lefts.size() - 1;
  }

  std::vector<uint32_t> byImportance() const {
    std::vector<double> importance;
    for (size_t node = 0; node < landscape.numNodes(); ++node) {
      double largest = 0;
      for (double seconds : landscape.own(node))
        largest = seconds > largest ? seconds : largest;
      importance.push_back(largest);
    }
    std::vector<uint32_t> order(importance.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(order, [&](uint32_t a, uint32_t b) { return importance[a] > importance[b]; });
    return order;
  }

  /// The uses that the axis of this level may have, in the order of their numbers.
  llvm::ArrayRef<uint32_t> partsOf(uint32_t id, size_t level) {
    if (!lefts[id].parts.empty())
      return lefts[id].parts;
    std::map<uint32_t, std::vector<uint32_t>> byUse;
    for (uint32_t strategy : lefts[id].strategies) {
      const auto &axes = lefts[id].table->axes;
      constexpr uint32_t idle = 0;
      byUse[axes.empty() ? idle : axes[lefts[id].kept[strategy]][level]].push_back(strategy);
    }
    std::vector<uint32_t> parts;
    for (auto &[use, strategies] : byUse)
      parts.push_back(add({lefts[id].table, lefts[id].kept, std::move(strategies), {}, {}}, level + 1));
    lefts[id].parts = std::move(parts);
    return lefts[id].parts;
  }

  uint32_t decide(size_t node, size_t level) {
    uint32_t left = leftOf[node];
    llvm::ArrayRef<uint32_t> parts = partsOf(left, level);
    if (parts.size() == 1)
      return parts.front();
    collect(node);
    std::optional<Price> best;
    uint32_t bestPart = parts.front();
    for (uint32_t part : parts)
      for (uint32_t strategy : lefts[part].priced) {
        Price price(impossible[strategy], seconds[strategy]);
        if (best && !(price < *best))
          continue;
        best = price;
        bestPart = part;
      }
    return bestPart;
  }

  /// The last choice, among what all levels have left.
  uint32_t choose(size_t node) {
    llvm::ArrayRef<uint32_t> strategies = lefts[leftOf[node]].strategies;
    if (strategies.size() == 1)
      return strategies.front();
    collect(node);
    auto priceOf = [&](uint32_t strategy) { return Price(impossible[strategy], seconds[strategy]); };
    return *llvm::min_element(strategies, [&](uint32_t a, uint32_t b) { return priceOf(a) < priceOf(b); });
  }

  /// The price of every strategy of `node`.
  void collect(size_t node) {
    seconds.assign(landscape.numStrategies(node), 0);
    impossible.assign(landscape.numStrategies(node), 0);
    addRow(landscape.own(node));
    for (const Incidence &incidence : landscape.incidences(node))
      addRow(leastPairs(incidence));
  }

  void addRow(llvm::ArrayRef<double> row) {
    for (size_t strategy = 0; strategy < row.size(); ++strategy) {
      bool possible = !std::isnan(row[strategy]);
      seconds[strategy] += possible ? row[strategy] : 0;
      impossible[strategy] += !possible;
    }
  }

  /// For every strategy of a node: the least over what the neighbour has left; NaN where all is impossible.
  llvm::ArrayRef<double> leastPairs(const Incidence &incidence) {
    uint32_t left = leftOf[incidence.other];
    if (chosen[incidence.other] != open)
      return landscape.pairs(incidence, chosen[incidence.other]);
    llvm::ArrayRef<uint32_t> priced = lefts[left].priced;
    if (priced.size() == 1)
      return landscape.pairs(incidence, priced.front());
    size_t size = landscape.pairs(incidence, 0).size();
    auto [entry, isNew] = leastRows.try_emplace(uint64_t(incidence.rows) << 32 | left, rows.size());
    if (isNew) {
      rows.resize(rows.size() + size, std::numeric_limits<double>::quiet_NaN());
      llvm::MutableArrayRef<double> least = llvm::MutableArrayRef(rows).take_back(size);
      for (uint32_t strategy : priced)
        for (auto [value, cell] : llvm::zip_equal(least, landscape.pairs(incidence, strategy)))
          value = value <= cell || cell != cell ? value : cell;
    }
    return llvm::ArrayRef(rows).slice(entry->second, size);
  }

  static constexpr uint32_t open = ~0u;

  const Problem &problem;
  const Landscape &landscape;
  Outlook outlook;
  size_t numAxes = 0;
  std::vector<Left> lefts;
  std::vector<uint32_t> leftOf;               ///< for each node
  std::vector<uint32_t> chosen;               ///< for each node; `open` before the last level
  llvm::DenseMap<uint64_t, size_t> leastRows; ///< where they begin in `rows`
  std::vector<double> rows;
  std::vector<double> seconds;
  std::vector<uint32_t> impossible;
};

} // namespace

std::vector<uint32_t> bisectAxes(const Problem &problem, const Landscape &landscape, Outlook outlook) {
  return Bisection(problem, landscape, outlook).run();
}

} // namespace apc

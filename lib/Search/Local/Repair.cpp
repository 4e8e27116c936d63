// Moves of one and of two nodes.
#include "Repair.h"

#include "MemoryUse.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <utility>

namespace apc {

namespace {

/// What a choice costs while all other nodes stay; compared in this order.
struct Price {
  int64_t impossible = 0;
  int64_t bytesAboveLimit = 0;
  double seconds = 0;

  friend auto operator<=>(const Price &, const Price &) = default;
};

/// For each strategy of a node: the sum of what is possible, and how much is not.
struct Prices {
  std::vector<double> seconds;
  std::vector<int32_t> impossible;

  void start(llvm::ArrayRef<double> own) {
    seconds.assign(own.size(), 0);
    impossible.assign(own.size(), 0);
    add(own, true);
  }
  void add(llvm::ArrayRef<double> row, bool hasImpossible) {
    if (!hasImpossible) {
      for (size_t i = 0; i < row.size(); ++i)
        seconds[i] += row[i];
      return;
    }
    for (size_t i = 0; i < row.size(); ++i) {
      bool possible = !std::isnan(row[i]);
      seconds[i] += possible ? row[i] : 0;
      impossible[i] += !possible;
    }
  }
};

constexpr double leastGain = 1e-12; ///< relative: rounding is no gain

class Moves {
public:
  Moves(const Landscape &landscape, std::optional<int64_t> limit, const Deadline &deadline,
        std::vector<uint32_t> &chosen)
      : landscape(landscape), limit(limit), deadline(deadline), chosen(chosen), memory(limit),
        isDue(landscape.numNodes(), true), pairIsDue(landscape.numNodes(), true),
        lacksBytes(landscape.numNodes(), false) {
    for (size_t node = 0; node < chosen.size(); ++node)
      occupy(node);
  }

  /// Nothing else is looked at before something changes.
  void lookOnlyWhereItDiffersFrom(llvm::ArrayRef<uint32_t> repaired) {
    isDue.assign(isDue.size(), false);
    pairIsDue = isDue;
    for (size_t node = 0; node < chosen.size(); ++node)
      if (chosen[node] != repaired[node]) {
        isDue[node] = true;
        change(node, chosen[node]);
      }
  }

  void run() {
    constexpr unsigned maxRounds = 40;
    for (unsigned round = 0; round < maxRounds && !deadline.expired(); ++round) {
      while (sweepOne() && !deadline.expired())
        continue;
      bool changed = neighboursWork() <= maxNeighboursWork && sweepNeighbours();
      if (limit && allPairsWork() <= maxPairsWork)
        changed |= sweepAllPairs();
      if (!changed)
        return;
    }
  }

private:
  /// Pairs of strategies that a sweep over pairs of nodes may look at.
  static constexpr double maxPairsWork = 1 << 20, maxNeighboursWork = 1 << 23;

  double neighboursWork() const {
    double work = 0;
    for (size_t node = 0; node < landscape.numNodes(); ++node)
      for (const Incidence &incidence : landscape.incidences(node))
        if (incidence.other < node)
          work += static_cast<double>(landscape.numStrategies(node) * landscape.numStrategies(incidence.other));
    return work;
  }

  double allPairsWork() const {
    double strategies = 0;
    for (size_t node = 0; node < landscape.numNodes(); ++node)
      strategies += static_cast<double>(landscape.numStrategies(node));
    return strategies * strategies;
  }

  void occupy(size_t node) {
    if (limit)
      memory.add(bytes(node, chosen[node]), transient(node, chosen[node]));
  }
  void vacate(size_t node) {
    if (limit)
      memory.remove(bytes(node, chosen[node]), transient(node, chosen[node]));
  }
  int64_t bytes(size_t node, uint32_t strategy) const { return landscape.unary(node).persistentBytes[strategy]; }
  int64_t transient(size_t node, uint32_t strategy) const { return landscape.unary(node).transientBytes[strategy]; }

  /// Of `node`, without its pairs with `except`.
  void collect(size_t node, std::optional<size_t> except, Prices &prices) const {
    prices.start(landscape.own(node));
    for (const Incidence &incidence : landscape.incidences(node))
      if (incidence.other != except)
        prices.add(landscape.pairs(incidence, chosen[incidence.other]), landscape.hasImpossible(incidence));
  }

  static bool isBetter(const Price &a, const Price &b) {
    if (std::tie(a.impossible, a.bytesAboveLimit) != std::tie(b.impossible, b.bytesAboveLimit))
      return a < b;
    return a.seconds < b.seconds - leastGain * b.seconds;
  }
  /// Could it be better, whatever its bytes are? Most are not, and their bytes are never asked for.
  static bool mayBeBetter(int64_t impossible, double seconds, const Price &best) {
    return isBetter({impossible, 0, seconds}, best);
  }

  /// A move that was not allowed before can only be so now when bytes have become free.
  void change(size_t node, uint32_t strategy) {
    memoryChanged |= limit && (bytes(node, strategy) < bytes(node, chosen[node]) ||
                               transient(node, strategy) < transient(node, chosen[node]));
    chosen[node] = strategy;
    pairIsDue[node] = true;
    for (const Incidence &incidence : landscape.incidences(node)) {
      isDue[incidence.other] = true;
      pairIsDue[incidence.other] = true;
    }
  }

  bool sweepOne() {
    bool changed = false;
    bool mayAllowMore = std::exchange(memoryChanged, false);
    for (size_t node = 0; node < landscape.numNodes(); ++node) {
      if (!isDue[node] && !(mayAllowMore && lacksBytes[node]))
        continue;
      isDue[node] = false;
      changed |= moveOne(node);
      if (node % 1024 == 0 && deadline.expired())
        break;
    }
    return changed;
  }

  bool moveOne(size_t node) {
    collect(node, std::nullopt, first);
    vacate(node);
    auto priceOf = [&](uint32_t strategy) {
      int64_t above = limit ? memory.aboveLimitWith(bytes(node, strategy), transient(node, strategy)) : 0;
      return Price{first.impossible[strategy], above, first.seconds[strategy]};
    };
    uint32_t best = chosen[node];
    Price bestPrice = priceOf(best);
    lacksBytes[node] = false;
    for (uint32_t strategy = 0; strategy < first.seconds.size(); ++strategy) {
      if (!mayBeBetter(first.impossible[strategy], first.seconds[strategy], bestPrice))
        continue;
      if (Price price = priceOf(strategy); isBetter(price, bestPrice)) {
        best = strategy;
        bestPrice = price;
      } else {
        lacksBytes[node] = true;
      }
    }
    bool changed = best != chosen[node];
    if (changed)
      change(node, best);
    occupy(node);
    return changed;
  }

  bool sweepNeighbours() {
    bool changed = false;
    std::vector<bool> wasDue = pairIsDue;
    for (size_t node = 0; node < landscape.numNodes(); ++node) {
      if (!pairIsDue[node])
        continue;
      pairIsDue[node] = false;
      if (node % 256 == 0 && deadline.expired())
        break;
      std::optional<uint32_t> before;
      for (const Incidence &incidence : landscape.incidences(node))
        if (incidence.other != before && (incidence.other > node || !wasDue[incidence.other])) {
          before = incidence.other;
          changed |= moveTwo(node, incidence.other);
        }
    }
    return changed;
  }

  bool sweepAllPairs() {
    bool changed = false;
    for (size_t a = 0; a < landscape.numNodes(); ++a)
      for (size_t b = a + 1; b < landscape.numNodes(); ++b)
        changed |= moveTwo(a, b);
    return changed;
  }

  /// The pairs of the two nodes for a strategy of `a`, from all edges between them.
  void collectBetween(size_t a, size_t b, uint32_t strategyOfA, Prices &between) const {
    between.seconds.assign(landscape.numStrategies(b), 0);
    between.impossible.assign(landscape.numStrategies(b), 0);
    for (const Incidence &incidence : landscape.incidences(b))
      if (incidence.other == a)
        between.add(landscape.pairs(incidence, strategyOfA), landscape.hasImpossible(incidence));
  }

  bool moveTwo(size_t a, size_t b) {
    collect(a, b, first);
    collect(b, a, second);
    vacate(a);
    vacate(b);
    auto impossibleOf = [&](uint32_t i, uint32_t j) {
      return first.impossible[i] + second.impossible[j] + between.impossible[j];
    };
    auto secondsOf = [&](uint32_t i, uint32_t j) { return first.seconds[i] + second.seconds[j] + between.seconds[j]; };
    auto priceOf = [&](uint32_t i, uint32_t j) {
      int64_t above =
          limit ? memory.aboveLimitWith(bytes(a, i) + bytes(b, j), std::max(transient(a, i), transient(b, j))) : 0;
      return Price{impossibleOf(i, j), above, secondsOf(i, j)};
    };
    std::pair<int64_t, double> leastOfB(second.impossible[0], second.seconds[0]);
    for (size_t j = 1; j < second.seconds.size(); ++j)
      leastOfB = std::min(leastOfB, std::pair<int64_t, double>(second.impossible[j], second.seconds[j]));
    uint32_t bestA = chosen[a], bestB = chosen[b];
    collectBetween(a, b, bestA, between);
    Price best = priceOf(bestA, bestB);
    for (uint32_t i = 0; i < first.seconds.size(); ++i) {
      if (!mayBeBetter(first.impossible[i] + leastOfB.first, first.seconds[i] + leastOfB.second, best))
        continue;
      collectBetween(a, b, i, between);
      for (uint32_t j = 0; j < second.seconds.size(); ++j) {
        if (!mayBeBetter(impossibleOf(i, j), secondsOf(i, j), best))
          continue;
        if (Price price = priceOf(i, j); isBetter(price, best)) {
          best = price;
          bestA = i;
          bestB = j;
        }
      }
    }
    bool changed = bestA != chosen[a] || bestB != chosen[b];
    if (bestA != chosen[a])
      change(a, bestA);
    if (bestB != chosen[b])
      change(b, bestB);
    occupy(a);
    occupy(b);
    return changed;
  }

  const Landscape &landscape;
  std::optional<int64_t> limit;
  const Deadline &deadline;
  std::vector<uint32_t> &chosen;
  MemoryUse memory;
  bool memoryChanged = false;
  std::vector<bool> isDue, pairIsDue;
  std::vector<bool> lacksBytes; ///< by node: would it have moved had the others taken fewer?
  Prices first, second, between;
};

} // namespace

void repair(const Landscape &landscape, std::optional<int64_t> memoryLimitBytes, const Deadline &deadline,
            std::vector<uint32_t> &chosen) {
  Moves(landscape, memoryLimitBytes, deadline, chosen).run();
}

void repairSince(llvm::ArrayRef<uint32_t> repaired, const Landscape &landscape, const Deadline &deadline,
                 std::vector<uint32_t> &chosen) {
  Moves moves(landscape, std::nullopt, deadline, chosen);
  moves.lookOnlyWhereItDiffersFrom(repaired);
  moves.run();
}

} // namespace apc

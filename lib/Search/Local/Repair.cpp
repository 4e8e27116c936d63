// Moves of one node and of two nodes.
#include "Repair.h"

#include "MoveCost.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace apc {

namespace {

constexpr double leastRepairGain = 1e-12; ///< relative; a smaller gain may be rounding

class Repairs {
public:
  Repairs(const WeightedProblem &weighted, std::optional<int64_t> limit, const Deadline &deadline,
          std::vector<uint32_t> &chosen)
      : weighted(weighted), limit(limit), deadline(deadline), chosen(chosen), memory(limit),
        isDue(weighted.numNodes(), true), pairIsDue(weighted.numNodes(), true), lacksBytes(weighted.numNodes(), false) {
    for (size_t node = 0; node < chosen.size(); ++node)
      occupy(node);
  }

  /// Nodes that agree with \p repaired, and have no neighbour that differs, are skipped until something near changes.
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
  /// The number of pairs of strategies above which a sweep over pairs of nodes is skipped.
  static constexpr double maxPairsWork = 1 << 20, maxNeighboursWork = 1 << 23;

  double neighboursWork() const {
    double work = 0;
    for (size_t node = 0; node < weighted.numNodes(); ++node)
      for (const WeightedEnd &end : weighted.ends(node))
        if (end.other < node)
          work += static_cast<double>(weighted.numStrategies(node) * weighted.numStrategies(end.other));
    return work;
  }

  double allPairsWork() const {
    double strategies = 0;
    for (size_t node = 0; node < weighted.numNodes(); ++node)
      strategies += static_cast<double>(weighted.numStrategies(node));
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
  int64_t bytes(size_t node, uint32_t strategy) const { return weighted.unary(node).persistentBytes[strategy]; }
  int64_t transient(size_t node, uint32_t strategy) const { return weighted.unary(node).transientBytes[strategy]; }

  /// The costs of `node`, without its pairs with `except`.
  void collect(size_t node, std::optional<size_t> except, StrategyCosts &costs) const {
    costs.start(weighted.own(node));
    for (const WeightedEnd &end : weighted.ends(node))
      if (end.other != except)
        costs.add(weighted.pairs(end, chosen[end.other]), weighted.hasImpossible(end));
  }

  static bool isBetter(const MoveCost &a, const MoveCost &b) {
    if (std::tie(a.impossible, a.bytesAboveLimit) != std::tie(b.impossible, b.bytesAboveLimit))
      return a < b;
    return a.seconds < b.seconds - leastRepairGain * b.seconds;
  }
  /// Could a choice be better, whatever its bytes are? Most cannot, which saves computing their bytes.
  static bool mayBeBetter(int64_t impossible, double seconds, const MoveCost &best) {
    return isBetter({impossible, 0, seconds}, best);
  }

  /// A move that memory did not allow before can only be allowed now if bytes have become free.
  void change(size_t node, uint32_t strategy) {
    memoryChanged |= limit && (bytes(node, strategy) < bytes(node, chosen[node]) ||
                               transient(node, strategy) < transient(node, chosen[node]));
    chosen[node] = strategy;
    pairIsDue[node] = true;
    for (const WeightedEnd &end : weighted.ends(node)) {
      isDue[end.other] = true;
      pairIsDue[end.other] = true;
    }
  }

  bool sweepOne() {
    bool changed = false;
    bool mayAllowMore = std::exchange(memoryChanged, false);
    for (size_t node = 0; node < weighted.numNodes(); ++node) {
      if (!isDue[node] && !(mayAllowMore && lacksBytes[node]))
        continue;
      isDue[node] = false;
      changed |= moveOne(node);
      if (node % 1024 == 0 && deadline.expired())
        break;
    }
    return changed;
  }

  /// Counts the additions of a move.
  void spendOn(size_t numStrategies, size_t numRows) const {
    constexpr double once = 20, perAddition = 0.8; // nanoseconds
    deadline.spend(once + perAddition * static_cast<double>(numStrategies * numRows));
  }

  bool moveOne(size_t node) {
    spendOn(weighted.numStrategies(node), weighted.ends(node).size() + 1);
    collect(node, std::nullopt, first);
    vacate(node);
    auto costOf = [&](uint32_t strategy) {
      int64_t above = limit ? memory.aboveLimitWith(bytes(node, strategy), transient(node, strategy)) : 0;
      return MoveCost{first.impossible[strategy], above, first.seconds[strategy]};
    };
    uint32_t best = chosen[node];
    MoveCost bestCost = costOf(best);
    lacksBytes[node] = false;
    for (uint32_t strategy = 0; strategy < first.seconds.size(); ++strategy) {
      if (!mayBeBetter(first.impossible[strategy], first.seconds[strategy], bestCost))
        continue;
      if (MoveCost cost = costOf(strategy); isBetter(cost, bestCost)) {
        best = strategy;
        bestCost = cost;
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
    for (size_t node = 0; node < weighted.numNodes(); ++node) {
      if (!pairIsDue[node])
        continue;
      pairIsDue[node] = false;
      if (node % 256 == 0 && deadline.expired())
        break;
      std::optional<uint32_t> before;
      for (const WeightedEnd &end : weighted.ends(node))
        if (end.other != before && (end.other > node || !wasDue[end.other])) {
          before = end.other;
          changed |= moveTwo(node, end.other);
        }
    }
    return changed;
  }

  bool sweepAllPairs() {
    bool changed = false;
    for (size_t a = 0; a < weighted.numNodes(); ++a)
      for (size_t b = a + 1; b < weighted.numNodes(); ++b)
        changed |= moveTwo(a, b);
    return changed;
  }

  /// The pairs of a strategy of `a` with every strategy of `b`, over all edges between the two nodes.
  void collectBetween(size_t a, size_t b, uint32_t strategyOfA, StrategyCosts &between) const {
    between.seconds.assign(weighted.numStrategies(b), 0);
    between.impossible.assign(weighted.numStrategies(b), 0);
    for (const WeightedEnd &end : weighted.ends(b))
      if (end.other == a)
        between.add(weighted.pairs(end, strategyOfA), weighted.hasImpossible(end));
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
    auto costOf = [&](uint32_t i, uint32_t j) {
      int64_t above =
          limit ? memory.aboveLimitWith(bytes(a, i) + bytes(b, j), std::max(transient(a, i), transient(b, j))) : 0;
      return MoveCost{impossibleOf(i, j), above, secondsOf(i, j)};
    };
    std::pair<int64_t, double> leastOfB(second.impossible[0], second.seconds[0]);
    for (size_t j = 1; j < second.seconds.size(); ++j)
      leastOfB = std::min(leastOfB, std::pair<int64_t, double>(second.impossible[j], second.seconds[j]));
    uint32_t bestA = chosen[a], bestB = chosen[b];
    size_t numRows = weighted.ends(a).size() + weighted.ends(b).size();
    collectBetween(a, b, bestA, between);
    MoveCost best = costOf(bestA, bestB);
    for (uint32_t i = 0; i < first.seconds.size(); ++i) {
      if (!mayBeBetter(first.impossible[i] + leastOfB.first, first.seconds[i] + leastOfB.second, best))
        continue;
      collectBetween(a, b, i, between);
      ++numRows;
      for (uint32_t j = 0; j < second.seconds.size(); ++j) {
        if (!mayBeBetter(impossibleOf(i, j), secondsOf(i, j), best))
          continue;
        if (MoveCost cost = costOf(i, j); isBetter(cost, best)) {
          best = cost;
          bestA = i;
          bestB = j;
        }
      }
    }
    spendOn(second.seconds.size(), numRows);
    bool changed = bestA != chosen[a] || bestB != chosen[b];
    if (bestA != chosen[a])
      change(a, bestA);
    if (bestB != chosen[b])
      change(b, bestB);
    occupy(a);
    occupy(b);
    return changed;
  }

  const WeightedProblem &weighted;
  std::optional<int64_t> limit;
  const Deadline &deadline;
  std::vector<uint32_t> &chosen;
  MemoryUse memory;
  bool memoryChanged = false;
  std::vector<bool> isDue, pairIsDue;
  std::vector<bool> lacksBytes; ///< by node: would it have moved if the others had needed fewer bytes?
  StrategyCosts first, second, between;
};

} // namespace

void repair(const WeightedProblem &weighted, std::optional<int64_t> memoryLimitBytes, const Deadline &deadline,
            std::vector<uint32_t> &chosen) {
  Repairs(weighted, memoryLimitBytes, deadline, chosen).run();
}

Assignment repaired(const Problem &problem, const Assignment &assignment, const Deadline &deadline) {
  std::variant<ReducedProblem, Impossible> tables = tablesOf(problem, keepAll(problem));
  const auto *reduced = std::get_if<ReducedProblem>(&tables);
  return reduced ? repaired(*reduced, assignment, problem.memoryLimitBytes, deadline) : assignment;
}

Assignment repaired(const ReducedProblem &reduced, const Assignment &assignment,
                    std::optional<int64_t> memoryLimitBytes, const Deadline &deadline) {
  std::vector<uint32_t> chosen = reduced.compress(assignment);
  repair(WeightedProblem(reduced), memoryLimitBytes, deadline, chosen);
  return reduced.expand(chosen);
}

void repairSince(llvm::ArrayRef<uint32_t> repaired, const WeightedProblem &weighted, const Deadline &deadline,
                 std::vector<uint32_t> &chosen) {
  Repairs moves(weighted, std::nullopt, deadline, chosen);
  moves.lookOnlyWhereItDiffersFrom(repaired);
  moves.run();
}

} // namespace apc

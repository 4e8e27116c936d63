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
  void collect(size_t node, std::optional<size_t> except, NodeCosts &own) const {
    collect(node, except, own.costs);
    own.findLeast(weighted.unary(node).persistentBytes, weighted.unary(node).transientBytes);
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
      if (!alone.empty())
        alone[end.other].reset();
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
      int64_t above = aboveLimitWith(bytes(node, strategy), transient(node, strategy));
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
    alone.assign(weighted.numNodes(), std::nullopt);
    std::vector<char> isNeighbour(weighted.numNodes(), 0);
    for (size_t a = 0; a < weighted.numNodes(); ++a) {
      for (const WeightedEnd &end : weighted.ends(a))
        isNeighbour[end.other] = 1;
      for (size_t b = a + 1; b < weighted.numNodes(); ++b)
        changed |= isNeighbour[b] ? moveTwo(a, b) : moveApart(a, b);
      for (const WeightedEnd &end : weighted.ends(a))
        isNeighbour[end.other] = 0;
    }
    return changed;
  }

  /// Under the choices of its neighbours.
  const NodeCosts &aloneAt(size_t node) {
    std::optional<NodeCosts> &own = alone[node];
    if (!own) {
      spendOn(weighted.numStrategies(node), weighted.ends(node).size() + 1);
      collect(node, std::nullopt, own.emplace());
    }
    return *own;
  }

  /// No less than nodes that are no neighbours may cost together. Bytes above the limit count where some are now, with
  /// transient bytes of other nodes where theirs are not the largest.
  MoveCost leastApart(size_t a, const NodeCosts &first, size_t b, const NodeCosts &second, int64_t aboveNow) const {
    MoveCost least{first.impossible + second.impossible, 0, first.seconds + second.seconds};
    if (aboveNow == 0)
      return least;
    const int64_t largest = memory.largestTransient();
    const bool maySink = transient(a, chosen[a]) == largest || transient(b, chosen[b]) == largest;
    const int64_t freed = bytes(a, chosen[a]) - first.persistentBytes + bytes(b, chosen[b]) - second.persistentBytes;
    least.bytesAboveLimit = std::max<int64_t>(0, aboveNow - freed - (maySink ? largest : 0));
    return least;
  }

  /// Moves two nodes that are no neighbours.
  bool moveApart(size_t a, size_t b) {
    constexpr double look = 10; // nanoseconds
    deadline.spend(look);
    const NodeCosts &first = aloneAt(a), &second = aloneAt(b);
    const MoveCost now{first.costs.impossible[chosen[a]] + second.costs.impossible[chosen[b]],
                       memory.aboveLimitWith(0, 0), first.costs.seconds[chosen[a]] + second.costs.seconds[chosen[b]]};
    if (!isBetter(leastApart(a, first, b, second, now.bytesAboveLimit), now))
      return false;
    return moveBoth(a, first, b, second, /*areJoined=*/false);
  }

  /// The pairs of a strategy of `a` with every strategy of `b`, over all edges between the two nodes.
  void collectBetween(size_t a, size_t b, uint32_t strategyOfA, StrategyCosts &between) const {
    between.seconds.assign(weighted.numStrategies(b), 0);
    between.impossible.assign(weighted.numStrategies(b), 0);
    for (const WeightedEnd &end : weighted.ends(b))
      if (end.other == a)
        between.add(weighted.pairs(end, strategyOfA), weighted.hasImpossible(end));
  }

  /// Moves two neighbours.
  bool moveTwo(size_t a, size_t b) {
    collect(a, b, firstOfTwo);
    collect(b, a, secondOfTwo);
    spendOn(weighted.numStrategies(b), weighted.ends(a).size() + weighted.ends(b).size());
    return moveBoth(a, firstOfTwo, b, secondOfTwo, /*areJoined=*/true);
  }

  int64_t aboveLimitWith(int64_t persistentBytes, int64_t transientBytes) const {
    return limit ? memory.aboveLimitWith(persistentBytes, transientBytes) : 0;
  }
  /// Of two nodes that are vacated; no less than any strategy of `b` may make of strategy `i` of `a`. Bytes count where
  /// those of the best are too many.
  MoveCost leastWith(size_t a, const NodeCosts &first, uint32_t i, const NodeCosts &second, bool countBytes) const {
    MoveCost least{first.costs.impossible[i] + second.impossible, 0, first.costs.seconds[i] + second.seconds};
    if (countBytes)
      least.bytesAboveLimit =
          aboveLimitWith(bytes(a, i) + second.persistentBytes, std::max(transient(a, i), second.transientBytes));
    return least;
  }

  /// The best strategies of two nodes that are vacated. \p areJoined: there are pairs of both beside what they cost by
  /// themselves.
  std::pair<uint32_t, uint32_t> bestOfBoth(size_t a, const NodeCosts &first, size_t b, const NodeCosts &second,
                                           bool areJoined) {
    auto impossibleOf = [&](uint32_t i, uint32_t j) {
      return int64_t(first.costs.impossible[i]) + second.costs.impossible[j] + (areJoined ? between.impossible[j] : 0);
    };
    auto secondsOf = [&](uint32_t i, uint32_t j) {
      return first.costs.seconds[i] + second.costs.seconds[j] + (areJoined ? between.seconds[j] : 0);
    };
    auto costOf = [&](uint32_t i, uint32_t j) {
      int64_t above = aboveLimitWith(bytes(a, i) + bytes(b, j), std::max(transient(a, i), transient(b, j)));
      return MoveCost{impossibleOf(i, j), above, secondsOf(i, j)};
    };
    std::pair<uint32_t, uint32_t> chosenOfBoth(chosen[a], chosen[b]);
    if (areJoined)
      collectBetween(a, b, chosen[a], between);
    MoveCost best = costOf(chosen[a], chosen[b]);
    size_t numRows = 1;
    for (uint32_t i = 0; i < first.costs.seconds.size(); ++i) {
      if (!isBetter(leastWith(a, first, i, second, best.bytesAboveLimit > 0), best))
        continue;
      if (areJoined)
        collectBetween(a, b, i, between);
      ++numRows;
      for (uint32_t j = 0; j < second.costs.seconds.size(); ++j)
        if (mayBeBetter(impossibleOf(i, j), secondsOf(i, j), best))
          if (MoveCost cost = costOf(i, j); isBetter(cost, best)) {
            best = cost;
            chosenOfBoth = {i, j};
          }
    }
    spendOn(second.costs.seconds.size(), numRows);
    return chosenOfBoth;
  }

  bool moveBoth(size_t a, const NodeCosts &first, size_t b, const NodeCosts &second, bool areJoined) {
    vacate(a);
    vacate(b);
    const auto [strategyOfA, strategyOfB] = bestOfBoth(a, first, b, second, areJoined);
    bool changed = false;
    for (auto [node, strategy] : {std::pair(a, strategyOfA), std::pair(b, strategyOfB)})
      if (strategy != chosen[node]) {
        change(node, strategy);
        changed = true;
      }
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
  StrategyCosts first, between;
  NodeCosts firstOfTwo, secondOfTwo;
  std::vector<std::optional<NodeCosts>> alone; ///< by node; empty before the first sweep over all pairs
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

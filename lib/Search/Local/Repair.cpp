// Moves of one node and of two nodes.
#include "Repair.h"

#include "PlacedNodes.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace apc {

namespace {

class Repairs {
public:
  Repairs(const WeightedProblem &weighted, std::optional<int64_t> limit, const Deadline &deadline,
          std::vector<uint32_t> &chosen)
      : weighted(weighted), limit(limit), deadline(deadline), chosen(chosen), placed(weighted, limit, chosen),
        isDue(weighted.numNodes(), true), pairIsDue(weighted.numNodes(), true), lacksBytes(weighted.numNodes(), false) {
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

  /// A move that memory did not allow before can only be allowed now if bytes have become free.
  void change(size_t node, uint32_t strategy) {
    memoryChanged |= limit && (placed.bytes(node, strategy) < placed.bytes(node, chosen[node]) ||
                               placed.transient(node, strategy) < placed.transient(node, chosen[node]));
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
    placed.collect(node, std::nullopt, ofOne);
    placed.vacate(node);
    auto costOf = [&](uint32_t strategy) {
      int64_t above = placed.aboveLimitWith(placed.bytes(node, strategy), placed.transient(node, strategy));
      return MoveCost{ofOne.impossible[strategy], above, ofOne.seconds[strategy]};
    };
    uint32_t best = chosen[node];
    MoveCost bestCost = costOf(best);
    lacksBytes[node] = false;
    for (uint32_t strategy = 0; strategy < ofOne.seconds.size(); ++strategy) {
      if (!PlacedNodes::mayBeBetter(ofOne.impossible[strategy], ofOne.seconds[strategy], bestCost))
        continue;
      if (MoveCost cost = costOf(strategy); PlacedNodes::isBetter(cost, bestCost)) {
        best = strategy;
        bestCost = cost;
      } else {
        lacksBytes[node] = true;
      }
    }
    bool changed = best != chosen[node];
    if (changed)
      change(node, best);
    placed.occupy(node);
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
      placed.collect(node, std::nullopt, own.emplace());
    }
    return *own;
  }

  /// Moves two nodes that are no neighbours.
  bool moveApart(size_t a, size_t b) {
    constexpr double look = 10; // nanoseconds
    deadline.spend(look);
    const NodeCosts &first = aloneAt(a), &second = aloneAt(b);
    return placed.mayGainApart(a, first, b, second) && moveBoth(a, first, b, second, /*areJoined=*/false);
  }

  /// Moves two neighbours.
  bool moveTwo(size_t a, size_t b) {
    placed.collect(a, b, firstOfTwo);
    placed.collect(b, a, secondOfTwo);
    spendOn(weighted.numStrategies(b), weighted.ends(a).size() + weighted.ends(b).size());
    return moveBoth(a, firstOfTwo, b, secondOfTwo, /*areJoined=*/true);
  }

  bool moveBoth(size_t a, const NodeCosts &first, size_t b, const NodeCosts &second, bool areJoined) {
    placed.vacate(a);
    placed.vacate(b);
    const PlacedNodes::BestOfTwo best = placed.bestOfTwo(a, first, b, second, areJoined);
    spendOn(second.costs.seconds.size(), best.numRows);
    bool changed = false;
    for (auto [node, strategy] : {std::pair(a, best.first), std::pair(b, best.second)})
      if (strategy != chosen[node]) {
        change(node, strategy);
        changed = true;
      }
    placed.occupy(a);
    placed.occupy(b);
    return changed;
  }

  const WeightedProblem &weighted;
  std::optional<int64_t> limit;
  const Deadline &deadline;
  std::vector<uint32_t> &chosen;
  PlacedNodes placed;
  bool memoryChanged = false;
  std::vector<bool> isDue, pairIsDue;
  std::vector<bool> lacksBytes; ///< by node: would it have moved if the others had needed fewer bytes?
  StrategyCosts ofOne;
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

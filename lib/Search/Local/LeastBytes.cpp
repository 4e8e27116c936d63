// Moves of one node and of a chain of nodes that save bytes and cost no seconds.
#include "apc/Search/LeastBytes.h"

#include "../Reduce/Incidences.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cmath>
#include <map>

namespace apc {

namespace {

/// The cost of choices for some nodes while all others stay.
struct ByteCost {
  double seconds = 0; ///< a NaN when a pair is impossible
  int64_t persistentBytes = 0, transientBytes = 0;

  bool isPossible() const { return seconds == seconds; }
  ByteCost &operator+=(const ByteCost &other) {
    seconds += other.seconds;
    persistentBytes += other.persistentBytes;
    transientBytes += other.transientBytes;
    return *this;
  }
};

/// Is `a` possible, and faster than `b` by more than \p rounding, or as fast with fewer bytes?
bool isBetter(const ByteCost &a, const ByteCost &b, double rounding) {
  if (!a.isPossible() || !b.isPossible())
    return a.isPossible() && !b.isPossible();
  if (std::abs(a.seconds - b.seconds) > rounding)
    return a.seconds < b.seconds;
  return std::pair(a.persistentBytes, a.transientBytes) < std::pair(b.persistentBytes, b.transientBytes);
}

class ByteMoves {
public:
  ByteMoves(const Problem &problem, Assignment start)
      : problem(problem), assignment(std::move(start)), incidences(incidencesOf(problem)),
        isSource(problem.nodes.size(), true), changedAt(problem.nodes.size(), 1) {
    for (const Edge &edge : problem.edges)
      isSource[edge.to.index()] = false;
  }

  Assignment run() {
    std::vector<uint32_t> nodeTriedAt(isSource.size(), 0), chainTriedAt(isSource.size(), 0);
    for (uint32_t before = 0; before != now;) {
      before = now;
      for (uint32_t node = 0; node < isSource.size(); ++node) {
        if (!maySaveBytes(node))
          continue;
        tryChain({node}, nodeTriedAt[node]);
        if (!isSource[node] || !maySaveBytes(node))
          continue;
        if (Chain chain = chainFrom(node); chain.size() > 1)
          tryChain(chain, chainTriedAt[node]);
      }
    }
    return std::move(assignment);
  }

private:
  using Chain = llvm::SmallVector<uint32_t, 8>;

  llvm::ArrayRef<StrategyCost> costs(uint32_t node) const { return problem.tableOf(NodeId(node)).costs; }
  uint32_t &chosen(uint32_t node) { return assignment.strategies[node]; }

  bool maySaveBytes(uint32_t node) {
    auto bytes = [](const StrategyCost &cost) { return std::pair(cost.persistentBytes, cost.transientBytes); };
    return llvm::any_of(costs(node),
                        [&](const StrategyCost &cost) { return bytes(cost) < bytes(costs(node)[chosen(node)]); });
  }

  /// The nodes that follow one another from a source, up to the first with several neighbours further on.
  Chain chainFrom(uint32_t source) const {
    constexpr size_t maxLength = 6;
    Chain chain{source};
    while (chain.size() < maxLength) {
      std::optional<uint32_t> next;
      for (const Incidence &end : incidences[chain.back()]) {
        if (llvm::is_contained(chain, end.other) || end.other == next)
          continue;
        if (next)
          return chain;
        next = end.other;
      }
      if (!next)
        return chain;
      chain.push_back(*next);
    }
    return chain;
  }

  /// Moves the chain, unless nothing around it has changed since it was tried.
  void tryChain(const Chain &chain, uint32_t &triedAt) {
    bool isNew = llvm::any_of(chain, [&](uint32_t node) {
      return changedAt[node] > triedAt ||
             llvm::any_of(incidences[node], [&](const Incidence &end) { return changedAt[end.other] > triedAt; });
    });
    if (!isNew)
      return;
    bool hasMoved = moveAsBefore(chain);
    triedAt = now;
    if (!hasMoved)
      return;
    ++now;
    for (uint32_t node : chain)
      changedAt[node] = now;
  }

  /// Everything that a move of the chain depends on: its tables and choices, and the choices around it.
  std::vector<uint32_t> surroundings(const Chain &chain) const {
    std::vector<uint32_t> key;
    for (uint32_t node : chain) {
      llvm::append_values(key, problem.nodes[node].table.value, assignment.strategies[node],
                          static_cast<uint32_t>(incidences[node].size()));
      for (const Incidence &end : incidences[node]) {
        auto place = static_cast<uint32_t>(llvm::find(chain, end.other) - chain.begin());
        llvm::append_values(key, end.tableId.value, static_cast<uint32_t>(end.isProducer), place,
                            assignment.strategies[end.other]);
      }
    }
    return key;
  }

  /// Moves the chain as another one with equal surroundings, if there was one: repeated layers have many.
  bool moveAsBefore(const Chain &chain) {
    auto [entry, isNew] = moves.try_emplace(surroundings(chain));
    if (isNew && moveChain(chain))
      for (uint32_t node : chain)
        entry->second.push_back(chosen(node));
    if (entry->second.empty())
      return false;
    for (auto [node, strategy] : llvm::zip_equal(chain, entry->second))
      chosen(node) = strategy;
    return true;
  }

  /// The costs of a node with its pairs with nodes outside the chain.
  std::vector<ByteCost> costsAlone(uint32_t node, const Chain &chain) const {
    std::vector<ByteCost> sums;
    for (auto [strategy, cost] : llvm::enumerate(costs(node))) {
      sums.push_back({cost.seconds, cost.persistentBytes, cost.transientBytes});
      for (const Incidence &end : incidences[node])
        if (!llvm::is_contained(chain, end.other))
          sums.back().seconds += end.cell(strategy, assignment.strategies[end.other]);
    }
    return sums;
  }

  double pairSeconds(llvm::ArrayRef<const Incidence *> ends, uint32_t own, uint32_t others) const {
    double seconds = 0;
    for (const Incidence *end : ends)
      seconds += end->cell(own, others);
    return seconds;
  }

  llvm::SmallVector<const Incidence *, 2> endsBetween(uint32_t node, uint32_t other) const {
    llvm::SmallVector<const Incidence *, 2> ends;
    for (const Incidence &end : incidences[node])
      if (end.other == other)
        ends.push_back(&end);
    return ends;
  }

  /// Decides all nodes of the chain, from its end to its source. Returns whether that is better than before.
  bool moveChain(const Chain &chain) {
    std::vector<std::vector<ByteCost>> sums;
    for (uint32_t node : chain)
      sums.push_back(costsAlone(node, chain));
    ByteCost before;
    for (auto [position, node] : llvm::enumerate(chain)) {
      before += sums[position][chosen(node)];
      if (position > 0)
        before.seconds +=
            pairSeconds(endsBetween(chain[position - 1], node), chosen(chain[position - 1]), chosen(node));
    }
    constexpr double relativeRounding = 1e-13;
    double rounding = relativeRounding * before.seconds;
    std::vector<std::vector<uint32_t>> nextOf(chain.size()); ///< by position and strategy: the best of the next node
    for (size_t position = chain.size() - 1; position-- > 0;)
      nextOf[position] =
          addBestNext(chain[position], sums[position], chain[position + 1], sums[position + 1], rounding);
    uint32_t best = chosen(chain.front());
    for (uint32_t strategy = 0; strategy < sums.front().size(); ++strategy)
      if (isBetter(sums.front()[strategy], sums.front()[best], rounding))
        best = strategy;
    if (!isBetter(sums.front()[best], before, rounding))
      return false;
    for (auto [position, node] : llvm::enumerate(chain)) {
      chosen(node) = best;
      best = position + 1 < chain.size() ? nextOf[position][best] : 0;
    }
    return true;
  }

  /// Adds to each sum of a node the best of the next node's sums with their pair. Returns which those are.
  std::vector<uint32_t> addBestNext(uint32_t node, std::vector<ByteCost> &sums, uint32_t next,
                                    llvm::ArrayRef<ByteCost> nextSums, double rounding) const {
    llvm::SmallVector<const Incidence *, 2> ends = endsBetween(node, next);
    std::vector<uint32_t> bestNext;
    for (auto [strategy, sum] : llvm::enumerate(sums)) {
      ByteCost best{std::nan("")};
      uint32_t choice = 0;
      for (auto [others, nextSum] : llvm::enumerate(nextSums)) {
        if (nextSum.seconds > best.seconds + rounding) // no pair takes less than nothing
          continue;
        ByteCost cost = nextSum;
        cost.seconds += pairSeconds(ends, strategy, others);
        if (isBetter(cost, best, rounding)) {
          best = cost;
          choice = others;
        }
      }
      sum += best;
      bestNext.push_back(choice);
    }
    return bestNext;
  }

  const Problem &problem;
  Assignment assignment;
  Incidences incidences;
  std::vector<bool> isSource;                                   ///< by node: does no edge lead to it?
  std::vector<uint32_t> changedAt;                              ///< by node
  uint32_t now = 1;                                             ///< counts the moves
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> moves; ///< by surroundings: the new choices; empty: it stays
};

} // namespace

/// Fewer persistent bytes may come with more transient ones: then all together decide.
Assignment withLeastBytes(const Problem &problem, Assignment start) {
  Assignment moved = ByteMoves(problem, start).run();
  return evaluate(problem, moved).bytes() <= evaluate(problem, start).bytes() ? moved : start;
}

SearchResult withLeastBytes(const Problem &problem, SearchResult result) {
  if (!result.hasAnswer())
    return result;
  result.assignment = withLeastBytes(problem, std::move(result.assignment));
  Evaluation cost = evaluate(problem, result.assignment);
  result.seconds = cost.seconds;
  result.bytes = cost.bytes();
  result.lowerBoundSeconds = std::min(result.lowerBoundSeconds, cost.seconds); // sums may be rounded in another order
  return result;
}

} // namespace apc

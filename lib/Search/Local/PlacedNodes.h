// The choices of all nodes with the memory that they take, and the best choices of two of them.
#pragma once

#include "../Reduce/WeightedProblem.h"
#include "MoveCost.h"

#include <tuple>

namespace apc {

/// Choices that a local search changes. Nodes that are to move are vacated first: they take no memory then.
class PlacedNodes {
public:
  /// All nodes take their memory. \p chosen: outlives this.
  PlacedNodes(const WeightedProblem &weighted, std::optional<int64_t> limit, std::vector<uint32_t> &chosen)
      : weighted(weighted), limit(limit), chosen(chosen), memory(limit) {
    for (size_t node = 0; node < chosen.size(); ++node)
      occupy(node);
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
  /// With one more node; 0 without a limit.
  int64_t aboveLimitWith(int64_t persistentBytes, int64_t transientBytes) const {
    return memory.aboveLimitWith(persistentBytes, transientBytes);
  }

  /// The costs of `node`, without its pairs with `except`.
  void collect(size_t node, std::optional<size_t> except, StrategyCosts &costs) const;
  void collect(size_t node, std::optional<size_t> except, NodeCosts &own) const;

  /// By more than rounding.
  static bool isBetter(const MoveCost &a, const MoveCost &b) {
    constexpr double leastGain = 1e-12; // relative
    if (std::tie(a.impossible, a.bytesAboveLimit) != std::tie(b.impossible, b.bytesAboveLimit))
      return a < b;
    return a.seconds < b.seconds - leastGain * b.seconds;
  }
  /// Could a choice be better, whatever its bytes are? Most cannot, which saves computing their bytes.
  static bool mayBeBetter(int64_t impossible, double seconds, const MoveCost &best) {
    return isBetter({impossible, 0, seconds}, best);
  }

  /// May two nodes that are no neighbours, and are not vacated, gain by a move?
  bool mayGainApart(size_t a, const NodeCosts &first, size_t b, const NodeCosts &second) const;

  /// Strategies of two nodes, and how many of the first were looked at with all of the second.
  struct BestOfTwo {
    uint32_t first, second;
    size_t numRows;
  };
  /// The best strategies of two nodes that are vacated. \p areJoined: there are pairs of both beside what they cost by
  /// themselves.
  BestOfTwo bestOfTwo(size_t a, const NodeCosts &first, size_t b, const NodeCosts &second, bool areJoined);

private:
  MoveCost leastApart(size_t a, const NodeCosts &first, size_t b, const NodeCosts &second, int64_t aboveNow) const;
  MoveCost leastWith(size_t a, const NodeCosts &first, uint32_t i, const NodeCosts &second, bool countBytes) const;
  void collectBetween(size_t a, size_t b, uint32_t strategyOfA);

  const WeightedProblem &weighted;
  std::optional<int64_t> limit;
  std::vector<uint32_t> &chosen;
  MemoryUse memory;
  StrategyCosts between; ///< of a strategy of one node with every strategy of another
};

} // namespace apc

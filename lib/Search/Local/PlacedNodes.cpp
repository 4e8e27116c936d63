// Choices of two nodes at once; those that can gain nothing are left out before they are costed.
#include "PlacedNodes.h"

namespace apc {

void PlacedNodes::collect(size_t node, std::optional<size_t> except, StrategyCosts &costs) const {
  costs.start(weighted.own(node));
  for (const WeightedEnd &end : weighted.ends(node))
    if (end.other != except)
      costs.add(weighted.pairs(end, chosen[end.other]), weighted.hasImpossible(end));
}

void PlacedNodes::collect(size_t node, std::optional<size_t> except, NodeCosts &own) const {
  collect(node, except, own.costs);
  own.findLeast(weighted.unary(node).persistentBytes, weighted.unary(node).transientBytes);
}

/// No less than both may cost. Bytes above the limit count where some are now, with the transient bytes of other nodes
/// where theirs are not the largest.
MoveCost PlacedNodes::leastApart(size_t a, const NodeCosts &first, size_t b, const NodeCosts &second,
                                 int64_t aboveNow) const {
  MoveCost least{first.impossible + second.impossible, 0, first.seconds + second.seconds};
  if (aboveNow == 0)
    return least;
  const int64_t largest = memory.largestTransient();
  const bool maySink = transient(a, chosen[a]) == largest || transient(b, chosen[b]) == largest;
  const int64_t freed = bytes(a, chosen[a]) - first.persistentBytes + bytes(b, chosen[b]) - second.persistentBytes;
  least.bytesAboveLimit = std::max<int64_t>(0, aboveNow - freed - (maySink ? largest : 0));
  return least;
}

bool PlacedNodes::mayGainApart(size_t a, const NodeCosts &first, size_t b, const NodeCosts &second) const {
  const MoveCost now{int64_t(first.costs.impossible[chosen[a]]) + second.costs.impossible[chosen[b]],
                     aboveLimitWith(0, 0), first.costs.seconds[chosen[a]] + second.costs.seconds[chosen[b]]};
  return isBetter(leastApart(a, first, b, second, now.bytesAboveLimit), now);
}

/// No less than any strategy of the second node may make of strategy `i` of `a`, both being vacated. Bytes count where
/// those of the best are too many.
MoveCost PlacedNodes::leastWith(size_t a, const NodeCosts &first, uint32_t i, const NodeCosts &second,
                                bool countBytes) const {
  MoveCost least{first.costs.impossible[i] + second.impossible, 0, first.costs.seconds[i] + second.seconds};
  if (countBytes)
    least.bytesAboveLimit =
        aboveLimitWith(bytes(a, i) + second.persistentBytes, std::max(transient(a, i), second.transientBytes));
  return least;
}

/// The pairs of a strategy of `a` with every strategy of `b`, over all edges between the two nodes.
void PlacedNodes::collectBetween(size_t a, size_t b, uint32_t strategyOfA) {
  between.seconds.assign(weighted.numStrategies(b), 0);
  between.impossible.assign(weighted.numStrategies(b), 0);
  for (const WeightedEnd &end : weighted.ends(b))
    if (end.other == a)
      between.add(weighted.pairs(end, strategyOfA), weighted.hasImpossible(end));
}

PlacedNodes::BestOfTwo PlacedNodes::bestOfTwo(size_t a, const NodeCosts &first, size_t b, const NodeCosts &second,
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
  BestOfTwo found{chosen[a], chosen[b], 1};
  if (areJoined)
    collectBetween(a, b, chosen[a]);
  MoveCost best = costOf(chosen[a], chosen[b]);
  for (uint32_t i = 0; i < first.costs.seconds.size(); ++i) {
    if (!isBetter(leastWith(a, first, i, second, best.bytesAboveLimit > 0), best))
      continue;
    if (areJoined)
      collectBetween(a, b, i);
    ++found.numRows;
    for (uint32_t j = 0; j < second.costs.seconds.size(); ++j)
      if (mayBeBetter(impossibleOf(i, j), secondsOf(i, j), best))
        if (MoveCost cost = costOf(i, j); isBetter(cost, best)) {
          best = cost;
          std::tie(found.first, found.second) = std::tie(i, j);
        }
  }
  return found;
}

} // namespace apc

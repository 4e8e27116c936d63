// Greedy start and coordinate descent.
#include "LocalSearch.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <set>

namespace apc {

namespace {

/// What one strategy of one node costs while all other nodes stay; compared in this order.
struct Price {
  size_t impossiblePairs = 0;
  int64_t bytesAboveLimit = 0;
  double seconds = 0;

  friend auto operator<=>(const Price &, const Price &) = default;
};

using EdgeLists = std::vector<llvm::SmallVector<const Edge *, 4>>;

EdgeLists edgesByNode(const Problem &problem) {
  EdgeLists lists(problem.nodes.size());
  for (const Edge &edge : problem.edges) {
    lists[edge.from.index()].push_back(&edge);
    lists[edge.to.index()].push_back(&edge);
  }
  return lists;
}

/// Adds the pairs of `node` under `strategy` with those other nodes that `counts` accepts.
template <typename Predicate>
void addPairs(Price &price, const Problem &problem, const EdgeLists &edges, const Assignment &assignment, size_t node,
              uint32_t strategy, Predicate counts) {
  for (const Edge *edge : edges[node]) {
    bool isFrom = edge->from.index() == node;
    NodeId other = isFrom ? edge->to : edge->from;
    if (!counts(other.index()))
      continue;
    uint32_t otherStrategy = assignment[other];
    std::optional<double> seconds = isFrom ? problem.tableOf(*edge).at(strategy, otherStrategy)
                                           : problem.tableOf(*edge).at(otherStrategy, strategy);
    price.seconds += seconds.value_or(0);
    price.impossiblePairs += !seconds;
  }
}

/// The memory of an assignment while single nodes change.
class MemoryUse {
public:
  MemoryUse(const Problem &problem, const Assignment &assignment) : limit(problem.memoryLimitBytes) {
    for (size_t node = 0; node < problem.nodes.size(); ++node)
      add(problem.tableOf(NodeId(node)).costs[assignment.strategies[node]]);
  }

  void add(const StrategyCost &cost) {
    persistent += cost.persistentBytes;
    transient.insert(cost.transientBytes);
  }
  void remove(const StrategyCost &cost) {
    persistent -= cost.persistentBytes;
    transient.erase(transient.find(cost.transientBytes));
  }
  int64_t aboveLimitWith(const StrategyCost &cost) const {
    if (!limit)
      return 0;
    int64_t largest = transient.empty() ? 0 : *transient.rbegin();
    return std::max<int64_t>(0, persistent + cost.persistentBytes + std::max(largest, cost.transientBytes) - *limit);
  }

private:
  std::optional<int64_t> limit;
  int64_t persistent = 0;
  std::multiset<int64_t> transient;
};

/// Turns `assignment` into `target` node by node and keeps the fastest that passes on the way.
void walkTowards(const Problem &problem, const EdgeLists &edges, Assignment assignment, const Assignment &target,
                 std::optional<double> &leastSeconds, Assignment &best) {
  Price price;
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    price.seconds += problem.tableOf(NodeId(node)).costs[assignment.strategies[node]].seconds;
    addPairs(price, problem, edges, assignment, node, assignment.strategies[node],
             [&](size_t other) { return other < node; });
  }
  MemoryUse memory(problem, assignment);
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    uint32_t before = assignment.strategies[node], after = target.strategies[node];
    if (before == after)
      continue;
    const NodeTable &table = problem.tableOf(NodeId(node));
    Price removed{0, 0, table.costs[before].seconds}, added{0, 0, table.costs[after].seconds};
    addPairs(removed, problem, edges, assignment, node, before, [](size_t) { return true; });
    addPairs(added, problem, edges, assignment, node, after, [](size_t) { return true; });
    price.seconds += added.seconds - removed.seconds;
    price.impossiblePairs += added.impossiblePairs - removed.impossiblePairs;
    memory.remove(table.costs[before]);
    price.bytesAboveLimit = memory.aboveLimitWith(table.costs[after]);
    memory.add(table.costs[after]);
    assignment.strategies[node] = after;
    if (price.impossiblePairs > 0 || price.bytesAboveLimit > 0 || (leastSeconds && price.seconds >= *leastSeconds))
      continue;
    leastSeconds = price.seconds;
    best = assignment;
  }
}

} // namespace

std::optional<Assignment> bestSplice(const Problem &problem, const Assignment &a, const Assignment &b) {
  EdgeLists edges = edgesByNode(problem);
  std::optional<double> leastSeconds;
  Assignment best;
  walkTowards(problem, edges, a, b, leastSeconds, best);
  walkTowards(problem, edges, b, a, leastSeconds, best);
  if (!leastSeconds)
    return std::nullopt;
  return best;
}

Assignment greedyAssignment(const Problem &problem) {
  EdgeLists edges = edgesByNode(problem);
  Assignment assignment;
  assignment.strategies.resize(problem.nodes.size(), 0);
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    std::optional<Price> best;
    llvm::ArrayRef<StrategyCost> costs = problem.tableOf(NodeId(node)).costs;
    for (uint32_t strategy = 0; strategy < costs.size(); ++strategy) {
      Price price{0, 0, costs[strategy].seconds};
      addPairs(price, problem, edges, assignment, node, strategy, [&](size_t other) { return other < node; });
      if (best && !(price < *best))
        continue;
      best = price;
      assignment.strategies[node] = strategy;
    }
  }
  return assignment;
}

Assignment improveByOneNode(const Problem &problem, Assignment assignment, const Deadline &deadline) {
  EdgeLists edges = edgesByNode(problem);
  MemoryUse memory(problem, assignment);
  constexpr unsigned maxSweeps = 50;
  bool changed = true;
  for (unsigned sweep = 0; sweep < maxSweeps && changed && !deadline.expired(); ++sweep) {
    changed = false;
    for (size_t node = 0; node < problem.nodes.size(); ++node) {
      llvm::ArrayRef<StrategyCost> costs = problem.tableOf(NodeId(node)).costs;
      uint32_t current = assignment.strategies[node], best = current;
      memory.remove(costs[current]);
      auto priceOf = [&](uint32_t strategy) {
        Price price{0, memory.aboveLimitWith(costs[strategy]), costs[strategy].seconds};
        addPairs(price, problem, edges, assignment, node, strategy, [](size_t) { return true; });
        return price;
      };
      Price bestPrice = priceOf(current);
      for (uint32_t strategy = 0; strategy < costs.size(); ++strategy) {
        Price price = priceOf(strategy);
        if (price < bestPrice) {
          bestPrice = price;
          best = strategy;
        }
      }
      memory.add(costs[best]);
      assignment.strategies[node] = best;
      changed |= best != current;
    }
  }
  return assignment;
}

Assignment withLeastBytes(const Problem &problem, Assignment start) {
  EdgeLists edges = edgesByNode(problem);
  auto all = [](size_t) { return true; };
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t node = 0; node < problem.nodes.size(); ++node) {
      const std::vector<StrategyCost> &costs = problem.tableOf(NodeId(node)).costs;
      auto priceOf = [&](uint32_t strategy) {
        Price price{.seconds = costs[strategy].seconds};
        addPairs(price, problem, edges, start, node, strategy, all);
        return price;
      };
      auto bytesOf = [&](uint32_t strategy) {
        return std::pair(costs[strategy].persistentBytes, costs[strategy].transientBytes);
      };
      Price current = priceOf(start.strategies[node]);
      for (uint32_t strategy = 0; strategy < costs.size(); ++strategy)
        if (bytesOf(strategy) < bytesOf(start.strategies[node]) && priceOf(strategy) <= current) {
          start.strategies[node] = strategy;
          changed = true;
        }
    }
  }
  return start;
}

} // namespace apc

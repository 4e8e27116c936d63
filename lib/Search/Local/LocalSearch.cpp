// Greedy start and coordinate descent.
#include "LocalSearch.h"

#include "MemoryUse.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>

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
    const PairTable &table = problem.tableOf(*edge);
    double seconds = isFrom ? table.row(strategy)[otherStrategy] : table.row(otherStrategy)[strategy];
    bool isPossible = !std::isnan(seconds);
    price.seconds += isPossible ? seconds : 0;
    price.impossiblePairs += !isPossible;
  }
}

void add(MemoryUse &memory, const StrategyCost &cost) { memory.add(cost.persistentBytes, cost.transientBytes); }
void remove(MemoryUse &memory, const StrategyCost &cost) { memory.remove(cost.persistentBytes, cost.transientBytes); }
int64_t aboveLimitWith(const MemoryUse &memory, const StrategyCost &cost) {
  return memory.aboveLimitWith(cost.persistentBytes, cost.transientBytes);
}

MemoryUse memoryOf(const Problem &problem, const Assignment &assignment) {
  MemoryUse memory(problem.memoryLimitBytes);
  for (size_t node = 0; node < problem.nodes.size(); ++node)
    add(memory, problem.tableOf(NodeId(node)).costs[assignment.strategies[node]]);
  return memory;
}

/// Turns `assignment` into `target` node by node and keeps the fastest that passes on the way.
void walkTowards(const Problem &problem, const EdgeLists &edges, Assignment assignment, const Assignment &target,
                 std::optional<double> &leastSeconds, Assignment &best) {
  Price price;
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    price.seconds += problem.tableOf(NodeId(node)).costs[assignment.strategies[node]].seconds;
    addPairs(price, problem, edges, assignment, node, assignment.strategies[node],
             [&](size_t other) { return other < node; });
  }
  MemoryUse memory = memoryOf(problem, assignment);
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
    remove(memory, table.costs[before]);
    price.bytesAboveLimit = aboveLimitWith(memory, table.costs[after]);
    add(memory, table.costs[after]);
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
  MemoryUse memory = memoryOf(problem, assignment);
  constexpr unsigned maxSweeps = 50;
  bool changed = true;
  for (unsigned sweep = 0; sweep < maxSweeps && changed && !deadline.expired(); ++sweep) {
    changed = false;
    for (size_t node = 0; node < problem.nodes.size(); ++node) {
      llvm::ArrayRef<StrategyCost> costs = problem.tableOf(NodeId(node)).costs;
      uint32_t current = assignment.strategies[node], best = current;
      remove(memory, costs[current]);
      auto priceOf = [&](uint32_t strategy) {
        Price price{0, aboveLimitWith(memory, costs[strategy]), costs[strategy].seconds};
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
      add(memory, costs[best]);
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

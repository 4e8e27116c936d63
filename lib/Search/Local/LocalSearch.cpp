// Greedy start and walks.
#include "LocalSearch.h"

#include "../Reduce/Incidences.h"
#include "MoveCost.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numeric>

namespace apc {

namespace {

/// A problem and an assignment that changes node by node.
class Moves {
public:
  Moves(const Problem &problem, Assignment assignment)
      : assignment(std::move(assignment)), problem(problem), incidences(incidencesOf(problem)) {}

  size_t numNodes() const { return problem.nodes.size(); }
  llvm::ArrayRef<StrategyCost> costs(size_t node) const { return problem.tableOf(NodeId(node)).costs; }
  uint32_t &chosen(size_t node) { return assignment.strategies[node]; }

  /// Adds the cost of a strategy, and of the pairs of its node with all nodes below \p numCounted; memory not counted.
  void addTo(MoveCost &total, size_t node, uint32_t strategy, size_t numCounted) const {
    total.seconds += costs(node)[strategy].seconds;
    for (const Incidence &end : incidences[node])
      if (end.other < numCounted)
        total.add(end.cell(strategy, assignment.strategies[end.other]));
  }
  MoveCost cost(size_t node, uint32_t strategy, size_t numCounted) const {
    MoveCost cost;
    addTo(cost, node, strategy, numCounted);
    return cost;
  }
  MoveCost cost(size_t node, uint32_t strategy) const { return cost(node, strategy, numNodes()); }

  MemoryUse memory() const {
    MemoryUse memory(problem.memoryLimitBytes);
    for (size_t node = 0; node < numNodes(); ++node)
      memory.add(costs(node)[assignment.strategies[node]]);
    return memory;
  }

  Assignment assignment;

private:
  const Problem &problem;
  Incidences incidences;
};

/// Nodes in the order of a walk: their own, but sources stand before the first node that reads them, so that a layer
/// changes together with its parameters.
std::vector<size_t> walkingOrder(const Problem &problem) {
  constexpr size_t none = std::numeric_limits<size_t>::max();
  std::vector<size_t> firstUser(problem.nodes.size(), none), place(problem.nodes.size());
  std::vector<bool> isSource(problem.nodes.size(), true);
  for (const Edge &edge : problem.edges) {
    firstUser[edge.from.index()] = std::min(firstUser[edge.from.index()], edge.to.index());
    isSource[edge.to.index()] = false;
  }
  for (size_t node = 0; node < place.size(); ++node)
    place[node] = isSource[node] && firstUser[node] != none ? firstUser[node] : node;
  std::vector<size_t> order(place.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return std::tuple(place[a], !isSource[a]) < std::tuple(place[b], !isSource[b]);
  });
  return order;
}

/// Turns `start` into `target` node by node and keeps the fastest assignment that passes `verify` on the way.
void walk(Moves &moves, llvm::ArrayRef<size_t> order, const Assignment &start, const Assignment &target,
          std::optional<double> &leastSeconds, Assignment &best) {
  moves.assignment = start;
  MoveCost total;
  for (size_t node = 0; node < moves.numNodes(); ++node)
    moves.addTo(total, node, moves.chosen(node), node);
  MemoryUse memory = moves.memory();
  for (size_t node : order) {
    uint32_t before = moves.chosen(node), after = target.strategies[node];
    if (before == after)
      continue;
    MoveCost removed = moves.cost(node, before), added = moves.cost(node, after);
    total.seconds += added.seconds - removed.seconds;
    total.impossible += added.impossible - removed.impossible;
    memory.remove(moves.costs(node)[before]);
    total.bytesAboveLimit = memory.aboveLimitWith(moves.costs(node)[after]);
    memory.add(moves.costs(node)[after]);
    moves.chosen(node) = after;
    if (total.impossible > 0 || total.bytesAboveLimit > 0 || (leastSeconds && total.seconds >= *leastSeconds))
      continue;
    leastSeconds = total.seconds;
    best = moves.assignment;
  }
}

} // namespace

std::optional<Assignment> bestSplice(const Problem &problem, const Assignment &a, const Assignment &b) {
  Moves moves(problem, a);
  std::optional<double> leastSeconds;
  Assignment best;
  std::vector<size_t> order = walkingOrder(problem);
  walk(moves, order, a, b, leastSeconds, best);
  walk(moves, order, b, a, leastSeconds, best);
  return leastSeconds ? std::optional(std::move(best)) : std::nullopt;
}

Assignment greedyAssignment(const Problem &problem) {
  Moves moves(problem, {std::vector<uint32_t>(problem.nodes.size(), 0)});
  for (size_t node = 0; node < moves.numNodes(); ++node) {
    std::optional<MoveCost> best;
    for (uint32_t strategy = 0; strategy < moves.costs(node).size(); ++strategy) {
      MoveCost cost = moves.cost(node, strategy, node);
      if (best && !(cost < *best))
        continue;
      best = cost;
      moves.chosen(node) = strategy;
    }
  }
  return std::move(moves.assignment);
}

} // namespace apc

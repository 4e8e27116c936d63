// Choosing the order of elimination: rounds that share work, then min-fill.
#include "EliminationOrder.h"

#include "EliminationGraph.h"
#include "KnownOrders.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <queue>
#include <set>

namespace apc::dp {

namespace {

/// Eliminates all remaining nodes by least fill.
void finishByMinFill(EliminationGraph &graph, size_t numNodes) {
  using Priority = std::tuple<uint64_t, double, uint32_t>;
  std::vector<Priority> current(numNodes), first;
  auto priorityOf = [&](uint32_t node) { return Priority(graph.fillOf(node), graph.workOf(node), node); };
  for (uint32_t node = 0; node < numNodes; ++node)
    if (graph.isAlive(node))
      first.push_back(current[node] = priorityOf(node));
  // Nodes stay in the queue with priorities that they no longer have.
  std::priority_queue<Priority, std::vector<Priority>, std::greater<>> queue(std::greater<>(), std::move(first));
  while (!queue.empty()) {
    Priority next = queue.top();
    queue.pop();
    uint32_t node = std::get<2>(next);
    if (!graph.isAlive(node) || next != current[node])
      continue;
    for (uint32_t touched : graph.eliminate(node))
      if (Priority own = priorityOf(touched); own != current[touched])
        queue.push(current[touched] = own);
  }
}

/// Groups of nodes whose elimination is the same product, kept up to date while nodes are eliminated.
class SharedRounds {
public:
  SharedRounds(EliminationGraph &graph, ProductStore &store, size_t numNodes, uint64_t largestTable)
      : graph(graph), store(store), largestTable(largestTable), productOf(numNodes) {
    for (uint32_t node = 0; node < numNodes; ++node)
      classify(node);
  }

  /// Eliminates the nodes of the best group that are not neighbours of each other, in ascending order (every other one
  /// of a chain). Returns how many neighbours each has; none when no group has two such nodes.
  std::optional<size_t> runOne() {
    const std::set<uint32_t> *best = nullptr;
    std::pair<size_t, double> bestScore;
    for (const auto &[product, members] : groups) {
      if (members.size() < 2)
        continue;
      size_t degree = store[product].sizes.size() - 1;
      std::pair<size_t, double> score(degree, store[product].work() / static_cast<double>(members.size()));
      if (!best || score < bestScore) {
        best = &members;
        bestScore = score;
      }
    }
    if (!best)
      return std::nullopt;
    eliminateIndependent(std::vector<uint32_t>(best->begin(), best->end()));
    return bestScore.first;
  }

private:
  void eliminateIndependent(llvm::ArrayRef<uint32_t> members) {
    llvm::DenseSet<uint32_t> blocked;
    std::vector<uint32_t> chosen;
    for (uint32_t node : members) {
      if (blocked.contains(node))
        continue;
      chosen.push_back(node);
      blocked.insert_range(graph.neighbours(node));
    }
    std::vector<uint32_t> changed;
    for (uint32_t node : chosen) {
      forget(node);
      llvm::append_range(changed, graph.neighbours(node));
      graph.eliminate(node);
    }
    llvm::sort(changed);
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (uint32_t node : changed) {
      forget(node);
      classify(node);
    }
  }

  void forget(uint32_t node) {
    if (productOf[node]) {
      auto group = groups.find(*productOf[node]);
      group->second.erase(node);
      if (group->second.empty())
        groups.erase(group);
    }
    productOf[node].reset();
  }

  /// Nodes of high degree, and nodes whose table would be large, are left to min-fill.
  void classify(uint32_t node) {
    constexpr size_t sharedDegree = 6;
    if (!graph.isAlive(node) || graph.neighbours(node).size() > sharedDegree || graph.cellsOf(node) > largestTable)
      return;
    productOf[node] = store.idOf(graph.bucketOf(node).product);
    groups[*productOf[node]].insert(node);
  }

  EliminationGraph &graph;
  ProductStore &store;
  uint64_t largestTable;
  std::vector<std::optional<uint32_t>> productOf;
  std::map<uint32_t, std::set<uint32_t>> groups;
};

/// How good an order is; less is better.
struct Quality {
  bool isRelaxed = false, isTooLarge = false;
  double work = 0;

  friend auto operator<=>(const Quality &, const Quality &) = default;
};

constexpr double costOfStep = 200;

/// The quality of the steps of `graph`, their products counted once.
Quality qualityOf(const EliminationGraph &graph, const ProductStore &store) {
  Quality quality{graph.isRelaxed()};
  std::vector<bool> isMet(store.size(), false);
  uint64_t totalCells = 0;
  for (const EliminationStep &step : graph.steps()) {
    quality.work += costOfStep;
    if (isMet[step.product])
      continue;
    isMet[step.product] = true;
    quality.work += store[step.product].work();
    totalCells += store[step.product].cells();
  }
  quality.isTooLarge = totalCells > largestTotal;
  return quality;
}

/// The steps of `graph` with their products counted once.
EliminationOrder collect(const EliminationGraph &graph, const ProductStore &store, size_t numLeaves) {
  EliminationOrder order;
  order.numLeaves = numLeaves;
  order.isRelaxed = graph.isRelaxed();
  order.steps.assign(graph.steps().begin(), graph.steps().end());
  std::vector<std::optional<uint32_t>> newIds(store.size());
  for (EliminationStep &step : order.steps) {
    order.work += costOfStep;
    std::optional<uint32_t> &newId = newIds[step.product];
    if (!newId) {
      newId = order.products.size();
      Product product = store[step.product];
      for (TableOperand &operand : product.operands)
        if (operand.table >= numLeaves)
          operand.table = numLeaves + *newIds[operand.table - numLeaves];
      order.work += product.work();
      order.totalCells += product.cells();
      order.products.push_back(std::move(product));
    }
    step.product = *newId;
  }
  return order;
}

/// The best order whose tables have at most `largestTable` cells each.
EliminationOrder makeOrderOfTables(const ReducedProblem &reduced, uint64_t largestTable) {
  size_t numNodes = reduced.numNodes();
  ProductStore store;
  EliminationGraph graph(reduced, store, largestTable);
  std::optional<EliminationOrder> best;
  Quality ofBest;
  auto tryFinishing = [&] {
    EliminationGraph trial = graph;
    finishByMinFill(trial, numNodes);
    Quality quality = qualityOf(trial, store);
    if (best && !(quality < ofBest))
      return;
    best = collect(trial, store, reduced.leaves.size());
    ofBest = quality;
  };
  tryFinishing();
  // A trial takes longer than an order of small tables.
  constexpr double workOfTrial = 1000; // for each node
  if (!ofBest.isRelaxed && ofBest.work <= workOfTrial * static_cast<double>(numNodes))
    return std::move(*best);
  // A trial costs as much as the remaining nodes, so trials at shrinking sizes cost a small multiple of the first.
  constexpr double shrinkBetweenTrials = 0.8;
  double lastTried = static_cast<double>(graph.numAlive());
  SharedRounds rounds(graph, store, numNodes, largestTable);
  bool isNew = false; // nodes without neighbours change nothing for others: a trial without them is the one before
  while (std::optional<size_t> numNeighbours = rounds.runOne()) {
    isNew |= *numNeighbours > 0;
    if (static_cast<double>(graph.numAlive()) > shrinkBetweenTrials * lastTried)
      continue;
    lastTried = static_cast<double>(graph.numAlive());
    if (std::exchange(isNew, false))
      tryFinishing();
  }
  if (isNew)
    tryFinishing();
  return std::move(*best);
}

EliminationOrder knownOrder(const ReducedProblem &reduced, uint64_t largestTable, KnownOrders *known) {
  if (!known)
    return makeOrderOfTables(reduced, largestTable);
  KnownOrders::Structure structure = KnownOrders::structureOf(reduced, largestTable);
  if (std::shared_ptr<const EliminationOrder> found = known->find(structure))
    return *found;
  auto order = std::make_shared<EliminationOrder>(makeOrderOfTables(reduced, largestTable));
  known->add(std::move(structure), order);
  return *order;
}

} // namespace

std::optional<EliminationOrder> makeExactOrder(const ReducedProblem &reduced, double maxWork, KnownOrders *known) {
  EliminationOrder order = knownOrder(reduced, largestTable, known);
  bool isExact = !order.isRelaxed && order.totalCells <= largestTotal && order.work <= maxWork;
  return isExact ? std::optional(std::move(order)) : std::nullopt;
}

EliminationOrder makeRelaxedOrder(const ReducedProblem &reduced, KnownOrders *known) {
  EliminationOrder order;
  for (uint64_t limit = largestRelaxedTable; limit >= 8; limit /= 8) {
    order = knownOrder(reduced, limit, known);
    if (order.totalCells <= largestTotal && order.work <= largestRelaxedWork)
      break;
  }
  return order;
}

EliminationOrder makeOrder(const ReducedProblem &reduced, double maxWork, KnownOrders *known) {
  std::optional<EliminationOrder> exact = makeExactOrder(reduced, maxWork, known);
  return exact ? std::move(*exact) : makeRelaxedOrder(reduced, known);
}

} // namespace apc::dp

// Structures as numbers.
#include "KnownOrders.h"

#include "apc/Search/Algorithms.h"

namespace apc {

std::shared_ptr<KnownOrders> makeKnownOrders() { return std::make_shared<KnownOrders>(); }

KnownOrders::Structure KnownOrders::structureOf(const ReducedProblem &reduced, uint64_t largestTable) {
  Structure structure = {static_cast<uint32_t>(largestTable), static_cast<uint32_t>(largestTable >> 32),
                         static_cast<uint32_t>(reduced.leaves.size()), static_cast<uint32_t>(reduced.unaries.size()),
                         static_cast<uint32_t>(reduced.numNodes())};
  for (const UnaryTable &unary : reduced.unaries)
    structure.push_back(static_cast<uint32_t>(unary.size()));
  structure.insert(structure.end(), reduced.unaryOf.begin(), reduced.unaryOf.end());
  for (const Potential &potential : reduced.potentials) {
    structure.push_back(potential.table);
    structure.push_back(static_cast<uint32_t>(potential.scope.size()));
    structure.insert(structure.end(), potential.scope.begin(), potential.scope.end());
  }
  return structure;
}

std::shared_ptr<const dp::EliminationOrder> KnownOrders::find(const Structure &structure) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = orders.find(structure);
  return found == orders.end() ? nullptr : found->second;
}

void KnownOrders::add(Structure structure, std::shared_ptr<const dp::EliminationOrder> order) {
  constexpr size_t mostSteps = size_t(1) << 20;
  std::lock_guard<std::mutex> lock(mutex);
  if (numSteps + order->steps.size() > mostSteps) {
    orders.clear();
    numSteps = 0;
  }
  size_t steps = order->steps.size();
  if (orders.try_emplace(std::move(structure), std::move(order)).second)
    numSteps += steps;
}

} // namespace apc

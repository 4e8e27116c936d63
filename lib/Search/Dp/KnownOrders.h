// Orders of elimination that are used again for problems of the same structure.
#pragma once

#include "EliminationOrder.h"

#include <map>
#include <memory>
#include <mutex>

namespace apc {

/// Orders of 96 layers take half a megabyte: all are forgotten when they are too many.
class KnownOrders {
public:
  /// Everything that the order of a problem follows from.
  using Structure = std::vector<uint32_t>;

  static Structure structureOf(const ReducedProblem &reduced, uint64_t largestTable);

  std::shared_ptr<const dp::EliminationOrder> find(const Structure &structure) const;
  void add(Structure structure, std::shared_ptr<const dp::EliminationOrder> order);

private:
  mutable std::mutex mutex;
  std::map<Structure, std::shared_ptr<const dp::EliminationOrder>> orders;
  size_t numSteps = 0; ///< of all orders
};

} // namespace apc

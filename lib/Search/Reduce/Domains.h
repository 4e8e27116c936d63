// The strategies that remain possible for each node while nodes are decided one after the other.
#pragma once

#include "Incidences.h"

#include "llvm/ADT/BitVector.h"

namespace apc {

/// For every node, the strategies that have a possible pair with a remaining strategy of each neighbour (arc
/// consistency: Mackworth 1977, AC-3). Where the impossible pairs lie on a tree, a decision that leaves every node a
/// strategy never has to be taken back.
class Domains {
public:
  explicit Domains(const Problem &problem);

  llvm::ArrayRef<Incidence> incidences(uint32_t node) const { return ends[node]; }
  const llvm::BitVector &of(uint32_t node) const { return alive[node]; }

  /// Removes strategies without a partner until all have one. Returns the first node that is left without a strategy,
  /// if there is one.
  std::optional<uint32_t> makeConsistent();
  /// Leaves `node` only `strategy`, and removes the strategies that then have no partner. Returns false, and changes
  /// nothing, when that would leave some node without a strategy.
  bool decide(uint32_t node, uint32_t strategy);

private:
  void remove(uint32_t node, uint32_t strategy);
  /// Checks the neighbours of changed nodes again. Returns the node that is left without a strategy, if there is one.
  std::optional<uint32_t> propagate();
  bool hasPartner(const Incidence &end, uint32_t strategy) const;

  Incidences ends;
  std::vector<llvm::BitVector> alive;
  std::vector<std::pair<uint32_t, uint32_t>> trail; ///< (node, strategy) removed since the last decision
  std::vector<uint32_t> changed;
};

} // namespace apc

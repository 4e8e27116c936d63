// Which strategies every node still has while nodes are decided one after the other.
#pragma once

#include "apc/Search/Problem.h"

#include "llvm/ADT/BitVector.h"

namespace apc {

/// One end of an edge, as its node sees it.
struct EdgeEnd {
  uint32_t other = 0;
  const PairTable *table = nullptr;
  bool isProducer = false; ///< the node's strategies are the table's rows

  bool possible(size_t own, size_t others) const {
    return isProducer ? table->possible(own, others) : table->possible(others, own);
  }
  std::optional<double> at(size_t own, size_t others) const {
    return isProducer ? table->at(own, others) : table->at(others, own);
  }
};

/// Keeps, for every node, the strategies that have a possible pair with some strategy of every neighbour (arc
/// consistency: Mackworth 1977, AC-3). On a tree of impossible pairs no decision that keeps them all non-empty is ever
/// regretted.
class Domains {
public:
  explicit Domains(const Problem &problem);

  llvm::ArrayRef<EdgeEnd> endsOf(uint32_t node) const {
    return llvm::ArrayRef(ends).slice(firstEnd[node], firstEnd[node + 1] - firstEnd[node]);
  }
  const llvm::BitVector &of(uint32_t node) const { return alive[node]; }

  /// Removes what has no partner anywhere. The first node to which nothing is left, when there is one.
  std::optional<uint32_t> settle();
  /// Leaves `node` nothing but `strategy`, and removes what then has no partner. False, and nothing changes, when that
  /// would leave some node nothing.
  bool decide(uint32_t node, uint32_t strategy);

private:
  void remove(uint32_t node, uint32_t strategy);
  /// Revises the neighbours of the nodes that have lost something; the node that is left nothing, if there is one.
  std::optional<uint32_t> propagate();
  bool hasPartner(const EdgeEnd &end, uint32_t strategy) const;

  std::vector<uint32_t> firstEnd;
  std::vector<EdgeEnd> ends;
  std::vector<llvm::BitVector> alive;
  std::vector<std::pair<uint32_t, uint32_t>> trail; ///< (node, strategy) removed since the last decision
  std::vector<uint32_t> changed;
};

} // namespace apc

// The limit on how far parameters, sums of gradients and states of the optimizer are cut, in the stages of ZeRO.
#pragma once

#include "apc/Cost/GraphCost.h"

#include <optional>

namespace apc {

/// Stages as Rajbhandari et al. 2020 have them; each allows what those before allow:
///
/// - 0: states, sums of gradients and parameters rest cut alike, as they are used;
/// - 1: states may be cut further than their parameter, which is gathered after its update;
/// - 2: sums of gradients over micro-batches, too, so that each micro-batch reduces its gradients;
/// - 3: parameters may be cut further than they are used, and are gathered for it.
class StorageLimit {
public:
  /// No stage: all is allowed. The limit refers to `graph`.
  StorageLimit(const OpGraph &graph, std::optional<int64_t> stage);

  /// Does the limit say anything about this value, a parameter that is trained?
  bool concerns(ValueId value) const { return !updates.empty() && updates[value.index()].has_value(); }
  /// May a parameter that rests as `rest` be read as `wanted` by this op? `isFree` says whether that takes no time;
  /// `gradients` is the sharding of the sum of its gradients, where the op is its update and there is one.
  bool allows(OpGraph::Use use, const Sharding &rest, const Sharding &wanted, bool isFree,
              const Sharding *gradients) const;
  /// The sum over micro-batches that an update reads; none where there is one micro-batch.
  std::optional<OpId> sumReadBy(OpId update) const;
  /// Does a whole program keep to the limit?
  bool allowsAll(llvm::ArrayRef<Strategy> strategies, llvm::ArrayRef<GraphMove> moves) const;

private:
  bool isUpdate(OpGraph::Use use) const;

  const OpGraph *graph;
  int64_t stage;
  std::vector<std::optional<OpId>> updates; ///< by value: the op that writes over the parameter; empty without a limit
};

} // namespace apc

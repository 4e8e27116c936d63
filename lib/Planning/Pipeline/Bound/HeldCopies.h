// The copies of weights that wait for the backward pass, as bytes that the edges of a problem tell.
#pragma once

#include "apc/Planning/BuildProblem.h"

namespace apc {

/// A parameter, or a view of one as its transpose, that ops of both passes read by way of a hub. When the forward pass
/// of a micro-batch is over, a device holds at least the value as it comes to the hub, where it goes from there again
/// for the backward pass, else the copy at the hub; nothing more where both are the stored parameter. So these bytes in
/// the place of the parameter's are never more than what is held.
struct HeldCopy {
  NodeId parameter;                         ///< its node
  size_t edge = 0;                          ///< from what makes the value to the hub
  std::vector<double> stored;               ///< by choice of the parameter, its bytes
  std::vector<double> arriving;             ///< by choice of what makes the value
  std::vector<std::optional<double>> atHub; ///< by choice of the hub; none where the value goes on from there again

  /// With these choices of what makes the value and of the hub.
  double bytes(size_t made, size_t hub) const { return atHub[hub].value_or(arriving[made]); }
};

/// One for each parameter that has such a hub: the last of its hubs, for others may be on the way to it.
llvm::SmallVector<HeldCopy> heldCopiesOf(const PlanningProblem &planning, const OpGraph &graph, const CostModel &model);

} // namespace apc

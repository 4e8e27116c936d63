// The users of weights in the forward pass and in the backward pass.
#pragma once

#include "apc/Graph/OpGraph.h"

#include "llvm/ADT/ArrayRef.h"

namespace apc {

/// Tells values that are made of parameters alone from others, and their users by the pass that they belong to. Such a
/// value can be brought from its storage to its users once for both passes, the copy being kept in between, or once for
/// each pass, and then nothing is kept (ZeRO 3).
///
/// y = x . W with the gradient dx = dy . W^T, tied to y: W is read by y in the forward pass and by dx in the backward
/// pass.
class PassUses {
public:
  explicit PassUses(const OpGraph &graph);

  /// Uses of one value, in their order.
  struct Split {
    std::vector<OpGraph::Use> forward, backward;
  };
  /// Users that run as often as the most frequent one and follow another op (gradients, recomputed copies) belong to
  /// the backward pass, all others to the forward pass.
  Split split(llvm::ArrayRef<OpGraph::Use> users) const;
  /// Is the value made of parameters alone, and read in both passes?
  bool mayComeAgain(ValueId value, llvm::ArrayRef<OpGraph::Use> users) const;

private:
  const OpGraph &graph;
  std::vector<bool> follows;  ///< by op
  std::vector<bool> isWeight; ///< by value
};

/// The most runs of one of these users in a step.
int64_t mostRepeats(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users);

} // namespace apc

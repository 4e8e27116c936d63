// The users of values in the forward pass and in the backward pass.
#pragma once

#include "apc/Graph/OpGraph.h"

#include "llvm/ADT/ArrayRef.h"

namespace apc {

/// Tells the users of a value by the pass that they belong to. A value that both passes read can be brought to its
/// users once for both, the copy being kept in between, or once for each pass, and then only the original is kept: a
/// weight as it is stored (ZeRO 3), an activation as it is made (sequence parallelism gathers it again: Korthikanti et
/// al., "Reducing Activation Recomputation in Large Transformer Models", 2023, section 4.2).
///
/// y = x . W with the gradients dx = dy . W^T and dW = x^T . dy, tied to y: W and x are read by y in the forward pass,
/// W by dx and x by dW in the backward pass.
class PassUses {
public:
  /// \p weightsAlone: only values made of parameters alone may come again.
  explicit PassUses(const OpGraph &graph, bool weightsAlone = false);

  /// Uses of one value, in their order.
  struct Split {
    std::vector<OpGraph::Use> forward, backward;
  };
  /// Users that run as often as the most frequent one and follow another op (gradients, recomputed copies) belong to
  /// the backward pass, all others to the forward pass.
  Split split(llvm::ArrayRef<OpGraph::Use> users) const;
  /// Is the value read in both passes, by the same micro-batch?
  bool mayComeAgain(ValueId value, llvm::ArrayRef<OpGraph::Use> users) const;
  /// The products beside which the value may come again for these users of the backward pass, as Megatron-LM does it:
  /// those that make the other gradients of the same ops. Of x above: dx, beside which x comes for dW. Empty where one
  /// of the users is no gradient by a product, or has no such product beside it.
  std::vector<OpId> productsBeside(llvm::ArrayRef<OpGraph::Use> backward) const;

private:
  const OpGraph &graph;
  std::vector<bool> follows;                ///< by op
  std::vector<bool> isFixed;                ///< by value: it comes once
  std::vector<std::optional<size_t>> tieOf; ///< by op
};

/// The most runs of one of these users in a step.
int64_t mostRepeats(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users);

} // namespace apc

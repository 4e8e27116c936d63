// Keys by which nodes and edges of a problem share tables.
#pragma once

#include "Choices.h"
#include "OpCosts.h"

#include "apc/Search/Problem.h"

namespace apc {

/// A value that one op of a node makes and another op of the same node reads; ops by their position in the node.
struct InnerUse {
  unsigned way; ///< uses with the same number, which stand together, share the moves of the value
  unsigned producer, result, user, operand;
  std::optional<unsigned> group = {}; ///< of values that may be exchanged together
  bool isExposed = false;             ///< no op can run on its way

  friend auto operator<=>(const InnerUse &, const InnerUse &) = default;
};

/// Uses by the moves that they share.
llvm::SmallVector<llvm::ArrayRef<InnerUse>, 4> waysOf(llvm::ArrayRef<InnerUse> inner);

/// Everything that the table of a node depends on: equal nodes share one table.
struct NodeKey {
  std::vector<OpKey> ops;
  std::vector<bool> covers; ///< by op (`Exposures`)
  std::vector<InnerUse> inner;
  std::vector<bool> leading; ///< strategies of the leading op that the filter leaves; empty without a filter
  std::vector<bool> kept;    ///< choices by these that it leaves to the ops that follow; empty without a filter

  friend auto operator<=>(const NodeKey &, const NodeKey &) = default;
};

/// Everything that the key of a node follows from, where a filter tells ops apart by kinds.
struct NodeKind {
  std::vector<OpKey> ops;
  std::vector<bool> covers;   ///< by op
  std::vector<uint32_t> kept; ///< by op: the kind of what the filter leaves to it
  std::vector<InnerUse> inner;
  std::vector<TiedKey> tied;

  friend auto operator<=>(const NodeKind &, const NodeKind &) = default;
};

/// The choices of a node as one of its values sees them: a result or an operand of one of its ops, or a hub.
struct Side {
  NodeTableId table;
  unsigned position = 0; ///< of the op in its node
  bool isResult = true;
  unsigned index = 0;
  std::vector<unsigned> earlier = {}; ///< operands of the same op that read the same value before this one

  bool isOperand(NodeTableId ofTable, unsigned atPosition, unsigned operand) const {
    return table == ofTable && position == atPosition && !isResult && index == operand;
  }
  friend auto operator<=>(const Side &, const Side &) = default;
};

} // namespace apc

// The dims on which a collective acts, as those who run it need them.
#pragma once

#include "apc/IR/ShardingAttrs.h"

namespace apc {

/// The dim in which `longer` has axes that `shorter` has not.
unsigned dimWithMore(const Sharding &longer, const Sharding &shorter);

/// The sizes of the parts of a dim in pieces of `held`, inside which `cut` cuts it further; one part where it has none.
llvm::SmallVector<int64_t, 4> partsBetween(const CoalescedCollective::Value &value, Sharding held, const Sharding &cut,
                                           unsigned dim, const Mesh &mesh);

/// A dim of pieces, and the sizes of its parts before it is cut, or once it is joined.
struct CollectivePlace {
  unsigned dim = 0;
  llvm::SmallVector<int64_t, 4> parts;
};
CollectivePlace joinedPlace(const CoalescedCollective::Value &value, const Mesh &mesh);
CollectivePlace cutPlace(const CoalescedCollective::Value &value, const Mesh &mesh);

/// For each member of a group the place in the group of the member to which a Permute sends its piece.
llvm::SmallVector<int64_t> permuteTargets(const CoalescedCollective &collective,
                                          const CoalescedCollective::Value &value, const Mesh &mesh);

} // namespace apc

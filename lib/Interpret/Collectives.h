// The effect of each kind of collective on the pieces of a group, by its definition.
#pragma once

#include "apc/IR/Ops/Spmd/Spmd.h"

namespace apc {

/// The piece of `rank` of one value after a collective of `kind`, from the pieces that the ranks of the group
/// (`members`, ascending) bring. An element that no member holds is poison (NaN, or `padding`); partial elements are
/// combined in the order of ranks and rounded once.
Tensor runCollective(CollectiveKind kind, const CoalescedCollective::Value &value, const Mesh &mesh, int64_t rank,
                     llvm::ArrayRef<int64_t> members, llvm::ArrayRef<const Tensor *> pieces, int64_t padding);

} // namespace apc

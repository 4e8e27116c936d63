// The effect of each kind of collective on the pieces of a group, by its definition.
#pragma once

#include "RankRun.h"

#include "apc/IR/Ops/Spmd/Spmd.h"

namespace apc {

/// The buffer that a rank brings to a collective of several values: their pieces, one behind the other. Elements are of
/// one type.
TensorRef bufferOf(llvm::ArrayRef<TensorRef> pieces);

/// The piece of `rank` of one value after a collective of `kind`, from the buffers that the ranks of the group
/// (`members`, ascending) bring, in which the value's piece begins at `offset`. An element that no member holds is
/// poison (NaN, or `padding`); partial elements are combined in the order of ranks and rounded once.
Tensor runCollective(CollectiveKind kind, const CoalescedCollective::Value &value, const Mesh &mesh, int64_t rank,
                     llvm::ArrayRef<int64_t> members, llvm::ArrayRef<TensorRef> buffers, int64_t offset,
                     int64_t padding);

} // namespace apc

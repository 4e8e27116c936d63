// What each kind of step does to the pieces of a group, by its definition.
#pragma once

#include "apc/IR/Ops/Spmd/Spmd.h"

namespace apc {

/// The piece of `rank` after `step`, from the pieces that the ranks of its group (`members`, ascending) bring. An
/// element that no member holds is poison; sums and the like are taken in the order of ranks and rounded once.
Tensor takeStep(const ProgramStep &step, const Mesh &mesh, int64_t rank, llvm::ArrayRef<int64_t> members,
                llvm::ArrayRef<const Tensor *> pieces);

} // namespace apc

// The requests of a step to an allocator.
#pragma once

#include "../ProgramMemory.h"

namespace apc {

/// The requests of a step to an allocator, from the intervals of one micro-batch in \p memory, to which other
/// micro-batches in flight are not added yet. Each op has two moments: that of the moves in front of it, and its own.
BlockProgram blockRequests(const OpGraph &graph, llvm::ArrayRef<GraphMove> moves, const Timeline &time,
                           const ProgramMemory &memory, const Runtime &runtime);

} // namespace apc

// Ops of a graph as they move least in any of several graphs.
#pragma once

#include "apc/Graph/OpGraph.h"

namespace apc {

/// `graph` with ops whose kernels move no more than those of the op of the same name in \p other: a value stays inside
/// a kernel, an op joins one or is read through, where that is so in either. Ops that only one has stay as they are.
///
/// A step that recomputes has all ops of the step that keeps everything. Some of them may move less, since an op that
/// runs again can join the kernel that reads it, so that nothing is kept for that: a step with the kernels of all
/// policies takes no longer than any of them, whatever the memory.
OpGraph withFewerMoves(OpGraph graph, const OpGraph &other);

} // namespace apc

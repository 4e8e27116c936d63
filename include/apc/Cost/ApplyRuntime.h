// The kernels that a runtime makes of the ops of a graph.
#pragma once

#include "apc/Cluster/Runtime.h"
#include "apc/Graph/OpGraph.h"

namespace apc {

/// Sets `GraphOp::kernel` of all ops.
///
/// - Transpositions and splits that contractions or attentions read through, or write in that order, are no work where
///   the runtime `readsTransposed`; with `fusesElementwise` other ops read through them, too.
/// - Elementwise ops over the same points join a kernel, where the runtime `fusesElementwise`: each operand that the
///   kernel does not make is there before the kernel's first op, or nothing outside has read a result of the kernel
///   yet. Values that only the kernel reads move no bytes.
/// - A product that makes a weight's gradient adds it to the sum over micro-batches, where the runtime `fusesSums`.
/// - Updates of parameters and sums over micro-batches are done for lists of tensors: no launches.
///
///   add -> gelu on the same [m, n]: one kernel, which reads both operands of the add and writes the gelu
void applyRuntime(OpGraph &graph, const Runtime &runtime);

} // namespace apc

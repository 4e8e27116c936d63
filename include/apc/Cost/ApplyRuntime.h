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
/// - Updates of parameters and sums over micro-batches are done for lists of tensors: no launches.
///
///   add -> gelu on the same [m, n]: one kernel, which reads both operands of the add and writes the gelu
void applyRuntime(OpGraph &graph, const Runtime &runtime);

/// Gives sums of gradients over micro-batches the bytes in which \p runtime adds them up and exchanges them, where
/// these are fewer than the program's. For steps that another trainer ran: a program that is emitted holds its sums in
/// its own type, and is costed with that.
void narrowSums(OpGraph &graph, const Runtime &runtime);

/// Lets contractions run twice, and devices exchange what they make twice, that a program does not recompute and
/// \p runtime does: those that make logits, and those that end a layer, which no gradient of the layer needs. For steps
/// that another trainer ran with full recomputation.
void runProductsAgain(OpGraph &graph, const Runtime &runtime);

} // namespace apc

// The work of a runtime's own trainer in a step that no emitted program does.
#pragma once

#include "apc/Cluster/Runtime.h"
#include "apc/Graph/OpGraph.h"

namespace apc {

/// Gives sums of gradients over micro-batches the bytes in which \p runtime adds them up and exchanges them, where
/// these are fewer than the program's. For steps that another trainer ran: a program that is emitted holds its sums in
/// its own type, and is costed with that.
void narrowSums(OpGraph &graph, const Runtime &runtime);

/// Lets contractions run twice, and devices exchange what they make twice, that a program does not recompute and
/// \p runtime does: those that make logits, and those that end a layer, which no gradient of the layer needs. For steps
/// that another trainer ran with full recomputation.
void runProductsAgain(OpGraph &graph, const Runtime &runtime);

} // namespace apc

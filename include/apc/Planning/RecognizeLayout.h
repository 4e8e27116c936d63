// The layout that comes nearest to a plan.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Plan/Plan.h"

namespace apc {

/// The degrees of a plan, read off its strategies and not off its name: each axis of a stage's mesh belongs to the kind
/// of parallelism for which contractions use it for most seconds. Batches cut over 8 devices and weights over other 8
/// are dp=8,tp=8; axes that no contraction uses count for dp. ep are the axes that cut experts. ZeRO is the stage at
/// which more than half of the bytes of parameters, of gradients' sums or of states rest. Workers, chunks, schedule,
/// micro-batches, copies and recomputation are the plan's. `graph` is that of the plan's step. Where stages differ, the
/// degrees are those on which most seconds are spent.
///
/// Nearest is not equal: `evaluateLayout` of the degrees says what is different.
ParallelDegrees recognizeLayout(const OpGraph &graph, const Plan &plan);

} // namespace apc

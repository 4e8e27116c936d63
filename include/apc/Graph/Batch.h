// One graph for many batches.
#pragma once

#include "apc/Graph/OpGraph.h"

namespace apc {

/// Stands for the batch while a graph is built that `atBatch` takes: a prime beyond every size without the batch in it,
/// so that its multiples are the sizes with it.
constexpr int64_t anyBatch = 1'000'003;

/// \p graph, which was built at `anyBatch`, as it is built at \p batch: dims and factors of 7 * `anyBatch` elements
/// have 7 * \p batch. Rules that are equal then are one, as `buildGraph` has them. Which ops there are must not depend
/// on the batch: a batch of 1, whose dims are left out, has other ops.
OpGraph atBatch(OpGraph graph, int64_t batch);

} // namespace apc

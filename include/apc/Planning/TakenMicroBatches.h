// Numbers of micro-batches that the schedule of a request takes.
#pragma once

#include "apc/Plan/PlanRequest.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Does the schedule that `request` names take so many micro-batches on so many workers, with any chunks that it
/// allows? `dualpipev` takes 6 on 3 workers, not 4. True where it names no schedule of its chunks.
bool takesMicroBatches(const PlanRequest &request, int64_t workers, int64_t microBatches);

/// The error (input) of a global batch of \p batch samples of which the schedule takes no number of micro-batches: the
/// one that `request` says, or any. It names the nearest numbers of that batch which the schedule takes, or else the
/// nearest batches. \p request: it names a schedule, and `takesMicroBatches` is false.
llvm::Error refusalOfBatch(const PlanRequest &request, int64_t workers, int64_t batch);

} // namespace apc

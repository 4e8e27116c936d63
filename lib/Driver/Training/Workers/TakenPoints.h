// The micro-batches of a request on a number of workers.
#pragma once

#include "apc/Plan/PlanRequest.h"

#include "llvm/Support/Error.h"

#include <vector>

namespace apc {

/// `microBatchRequests` on so many workers, without those that the schedule refuses: with `dualpipev` on 3 workers a
/// global batch of 8 has micro-batches of 1 alone. A micro-batch that the request says is left as it is: planning says
/// why it is refused. Errors: those of `microBatchRequests`; (input) the schedule takes none.
llvm::Expected<std::vector<PlanRequest>> takenPoints(const PlanRequest &request, int64_t workers);

} // namespace apc

// The choice between micro-batches that run whole and in copies.
#pragma once

#include "OwnBatch.h"

namespace apc {

/// The better of the best plan without copies and of one with two copies of its micro-batches, whose other numbers are
/// the same. Errors: those of planning without copies, which takes the least memory.
llvm::Expected<Plan> chooseCopies(const PlanRequest &request, PlanOfRequest plan, PlanOfRequest first);

} // namespace apc

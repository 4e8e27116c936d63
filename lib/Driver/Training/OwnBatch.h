// The batch that a model was exported with, where a request names none.
#pragma once

#include "apc/Plan/Plan.h"
#include "apc/Plan/PlanRequest.h"
#include "apc/Support/WorkClock.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace apc {

using PlanOfRequest = llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &)>;

/// `request` with the batch that its model was exported with, where neither batch is given and the model has more than
/// one sample: micro-batches of it are open.
PlanRequest withOwnBatch(const PlanRequest &request);

/// Plans the step with the model's own batch in one micro-batch by \p plan; where nothing fits, with as many
/// micro-batches as \p choose finds best in the time that is left. Errors: those of the whole batch where the model
/// does not allow another, else those of all micro-batches.
llvm::Expected<Plan> planOwnBatch(const PlanRequest &request, const WorkClock &clock, PlanOfRequest plan,
                                  PlanOfRequest choose);

} // namespace apc

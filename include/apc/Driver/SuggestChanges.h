// Plans, and where nothing fits, plans of what could be changed.
#pragma once

#include "apc/Driver/PlanModel.h"

namespace apc {

/// `planModel`. Where a training step does not fit, its nearest changes (apc/Planning/Alternatives.h) are planned as
/// well, within what is left of the time limit, and the error says which of them fit, with the memory that their plans
/// take: "what would help: --recompute full: 41.2 GiB; --devices 16: 61.0 GiB".
llvm::Expected<Plan> planOrSuggest(const PlanRequest &request, const PlanningControl &control);

} // namespace apc

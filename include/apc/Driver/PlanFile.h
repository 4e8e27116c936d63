// Plans on disk, and the words for them.
#pragma once

#include "apc/Plan/Diff.h"
#include "apc/Plan/PlanJson.h"
#include "apc/Plan/PlanSchema.h"
#include "apc/Report/Summary.h"

namespace apc {

/// Reads a plan.json; errors name the file and what is wrong in it.
llvm::Expected<Plan> loadPlan(llvm::StringRef path);

/// Writes `plan.json` in `folder` (made when absent), whole or not at all; returns its path.
llvm::Expected<std::string> savePlan(const Plan &plan, llvm::StringRef folder);

} // namespace apc

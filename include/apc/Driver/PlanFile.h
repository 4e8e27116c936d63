// Plans on disk, and the words for them.
#pragma once

#include "apc/Plan/Diff.h"
#include "apc/Plan/PlanJson.h"
#include "apc/Plan/PlanSchema.h"
#include "apc/Report/Summary.h"

namespace apc {

/// Reads a plan.json; errors name the file and what is wrong in it.
llvm::Expected<Plan> loadPlan(llvm::StringRef path);

/// The model of a plan that was read from `planPath`: `given`, or the file that the plan names, or one of that name
/// beside the plan: a relative path is relative to the folder in which the plan was made. Errors (input): there is
/// none.
llvm::Expected<std::string> findModel(const Plan &plan, llvm::StringRef planPath,
                                      const std::optional<std::string> &given);

/// An error (input) when `savePlan` could not write to `folder`, or what stands there as plan.json is no plan and would
/// be lost.
llvm::Error checkPlanFolder(llvm::StringRef folder);

/// Writes `plan.json` in `folder` (made when absent), whole or not at all; returns its path.
llvm::Expected<std::string> savePlan(const Plan &plan, llvm::StringRef folder);

} // namespace apc

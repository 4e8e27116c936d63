// The cost of another planner's plan, for `apc evaluate --layout-file`.
#pragma once

#include "apc/Plan/Plan.h"
#include "apc/Planning/Planning.h"

namespace apc {

/// The plan that the file `path` says for the model of `request`: degrees are carried out as a layout; cuts of ops
/// become pins, and the rest follows from them (`--parallel semi`), or is the best there is where all ops have cuts.
/// Devices and batches that the file says are those of the request where `isDevicesGiven` is false or the request has
/// none. Notes name ops of the file that the model lacks. Errors: those of `parseLayoutFile`, `evaluateModel`,
/// `searchModel`; a file none of whose ops the model has.
llvm::Expected<Plan> evaluateLayoutFile(PlanRequest request, llvm::StringRef path, bool isDevicesGiven,
                                        const PlanningControl &control);

} // namespace apc

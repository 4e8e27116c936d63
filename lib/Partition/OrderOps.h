// The order in which a program runs the ops of its model.
#pragma once

#include "PlanReader.h"

namespace apc {

/// The ops of `main` but its end: in the order of the model, but for those that read a copy of a bucket of the plan and
/// wait until all values of that bucket have been made. The order is that of `programOrder` (apc/Cost/GraphCost.h), by
/// which the plan counts memory. Errors (input): an op would wait for itself, or for a later part of a stage's work.
llvm::Expected<std::vector<mlir::Operation *>> orderOps(mlir::func::FuncOp main, const PlanNames &names,
                                                        const PlanReader &plan);

} // namespace apc

// The action lists of a plan's pipeline.
#pragma once

#include "apc/Plan/Plan.h"
#include "apc/Schedule/Pipeline/Schedules.h"

namespace apc {

/// The lists that were simulated and that programs run. Errors (input): a schedule that is unknown or does not take the
/// plan's numbers.
llvm::Expected<ActionLists> actionListsOf(const Plan &plan);

/// The lists with every action in the column of a unit of time, as PyTorch's `pipelining` reads them: a row for each
/// worker, a cell for each unit, as `3F12`, empty where the worker waits. No action stands before or beside one that it
/// needs. Errors (no plan): lists that the format has no words for, for two copies of the model run in opposite
/// directions, or micro-batches are cut into pieces.
llvm::Expected<std::string> scheduleCsv(const ActionLists &lists);

} // namespace apc

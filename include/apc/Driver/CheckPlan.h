// `apc check`: the gate that holds a model's plan to a recorded one.
#pragma once

#include "apc/Planning/Planning.h"
#include "apc/Report/PrintCheck.h"

namespace apc {

/// Reads a baseline; none when there is no such file.
llvm::Expected<std::optional<PlanRecord>> loadRecord(llvm::StringRef path);

/// Plans `request`, which is that of `record`, and compares: a strategy or the mesh changed, or step time or memory are
/// worse by more than `tolerance`. Errors: those of `planModel`. A check that fails is no error here.
llvm::Expected<CheckedPlan> checkPlan(const PlanRequest &request, const PlanningControl &control,
                                      const PlanRecord &record, double tolerance);

/// Plans `request` and puts the record at `path`, whole or not at all; returns it.
llvm::Expected<PlanRecord> updateRecord(const PlanRequest &request, const PlanningControl &control,
                                        llvm::StringRef path);

} // namespace apc

// `apc check`: the gate that holds a model's plan to a recorded one.
#pragma once

#include "apc/Driver/PlanModel.h"
#include "apc/Plan/Record.h"

namespace apc {

/// The options with which to plan again what a record describes; the model's path is left to the caller.
llvm::Expected<PlanOptions> optionsOf(const PlanRecord &record);

/// Reads a baseline; none when there is no such file.
llvm::Expected<std::optional<PlanRecord>> loadRecord(llvm::StringRef path);

struct CheckedPlan {
  PlanRecord now;
  RecordComparison comparison;
  std::string summary; ///< for people: verdict first, then what changed
  std::string json;    ///< keys `passed`, `tolerance`, `failures`, `improvements`, `step_seconds`, `memory_bytes`
};

/// Plans with `options` and compares with `record`: a strategy or the mesh changed, or step time or memory are worse by
/// more than `tolerance`. Errors: those of `planModel`. A check that fails is no error here.
llvm::Expected<CheckedPlan> checkPlan(const PlanOptions &options, const PlanRecord &record, double tolerance);

/// Plans with `options` and puts the record at `path`, whole or not at all; returns it.
llvm::Expected<PlanRecord> updateRecord(const PlanOptions &options, llvm::StringRef path);

} // namespace apc

// A plan in another tool's words, for `apc export`.
#pragma once

#include "apc/Export/Export.h"
#include "apc/Planning/Planning.h"

#include <optional>

namespace apc {

struct ExportPlanOptions {
  std::string planPath;
  std::optional<std::string> modelPath; ///< where the model is when not where the plan says
  std::string target;
};

/// Loads the plan, imports its model again, recognises the plan's layout, plans what the target would run and compares.
/// Errors: those of `loadPlan`, of importing and of the target; a model that has changed since it was planned.
llvm::Expected<ExportReport> exportPlan(const ExportPlanOptions &options, const PlanningControl &control);

/// Writes the files, whole or not at all: one file as `path`, or into it where it is a folder; several into the folder
/// `path`, which must be empty or hold nothing but files of these names. Returns the place. Errors (input).
llvm::Expected<std::string> saveExport(const Exported &exported, llvm::StringRef path);

} // namespace apc

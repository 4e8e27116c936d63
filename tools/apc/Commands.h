// The verbs of apc: each adds its flags to the command line and runs.
#pragma once

#include "apc/Support/Error.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>

namespace apc {

/// The work of a verb once its flags are read; an error decides the exit code by its fault.
using Run = std::function<llvm::Error()>;

/// A verb as a subcommand with what runs it. The flags live as long as `run`.
struct Command {
  CLI::App *app = nullptr;
  Run run;
  /// The key that is false in the document of a run that fails its check: "verified". Empty where there is no plan.
  std::string verdict = {};
};

Command addPlan(CLI::App &app);
Command addInspect(CLI::App &app);
Command addSolve(CLI::App &app);
Command addEmit(CLI::App &app);
Command addExplain(CLI::App &app);
Command addClusters(CLI::App &app);
Command addVerify(CLI::App &app);
Command addEvaluate(CLI::App &app);
Command addDiff(CLI::App &app);
Command addCheck(CLI::App &app);
Command addDocs(CLI::App &app);
Command addSweep(CLI::App &app);
Command addExport(CLI::App &app);
Command addReshard(CLI::App &app);

} // namespace apc

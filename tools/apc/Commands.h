// The verbs of apc: each adds its flags to the command line and runs.
#pragma once

#include "apc/Driver/PlanModel.h"
#include "apc/Support/Error.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>

namespace apc {

/// What a verb does once its flags are read; an error decides the exit code by its fault.
using Run = std::function<llvm::Error()>;

/// A verb as a subcommand with what runs it. The flags live as long as `run`.
struct Command {
  CLI::App *app = nullptr;
  Run run;
};

Command addPlan(CLI::App &app);
Command addInspect(CLI::App &app);
Command addSolve(CLI::App &app);
Command addEmit(CLI::App &app);
Command addExplain(CLI::App &app);
Command addClusters(CLI::App &app);
Command addVerify(CLI::App &app);

/// Flags of every verb that reads a model: `--dim`, `--parameters`, `--condition`.
struct ModelFlags {
  std::string path;
  std::vector<std::string> dims;
  std::vector<std::string> conditions;
  std::string parameters;

  void add(CLI::App &app);
  llvm::Expected<ImportOptions> options() const;
};

/// A flag that may be given many times and takes one value each time, so that a positional may follow it.
inline CLI::Option *addRepeatable(CLI::App &app, const std::string &name, std::vector<std::string> &values,
                                  const std::string &description) {
  return app.add_option(name, values, description)->allow_extra_args(false);
}

/// `--cluster-set`, as `loadCluster` reads it.
inline void addClusterSet(CLI::App &app, std::vector<std::string> &overrides) {
  addRepeatable(app, "--cluster-set", overrides,
                "KEY=VALUE: sets one figure of the cluster, as device.memory_bytes=40GiB, "
                "level.node.bytes_per_second=25GB/s, device.peak_flops_per_second.bf16=1e15 or host.memory_bytes=1TiB; "
                "'apc clusters NAME' lists the keys; repeatable");
}

} // namespace apc

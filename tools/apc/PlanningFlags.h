// The flags of the verbs that plan or price a model on a cluster.
#pragma once

#include "Commands.h"
#include "Flags.h"

namespace apc {

/// A flag that is not given leaves its option as it was.
struct PlanningFlags {
  ModelFlags model;
  std::optional<int64_t> devices;
  std::string cluster, mode, search, memoryLimit;
  std::vector<std::string> clusterOverrides, layouts;
  PinFlags pins;
  std::optional<double> timeLimitSeconds, gap;
  unsigned numThreads = 1;

  /// Flags that say what is planned for; returns them, so that a verb can tie them to another flag.
  std::vector<CLI::Option *> addTarget(CLI::App &app);
  /// `--search`, `--layout` (a baseline), `--time-limit`, `--gap`, those of `PinFlags`; returned likewise.
  std::vector<CLI::Option *> addSearch(CLI::App &app);

  /// Puts what was given into `options`.
  llvm::Error apply(PlanOptions &options) const;
};

} // namespace apc

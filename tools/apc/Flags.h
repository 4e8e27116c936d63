// Flags that several verbs share: repeatable flags, checked numbers, the flags of the model and of the cluster.
#pragma once

#include "apc/Driver/PlanModel.h"

#include <CLI/CLI.hpp>

namespace apc {

/// A flag that may be given many times and takes one value each time, so that a positional may follow it.
CLI::Option *addRepeatable(CLI::App &app, const std::string &name, std::vector<std::string> &values,
                           const std::string &description);

/// Accepts whole numbers from `least` to `most`, both included.
CLI::Validator wholeNumber(int64_t least, int64_t most);
/// Accepts seconds above 0, at most a year.
CLI::Validator seconds();
/// Accepts shares from 0 to 1.
CLI::Validator share();

/// Flags of every verb that reads a model: `--dim`, `--condition`, `--parameters`.
struct ModelFlags {
  std::string path;
  std::vector<std::string> dims;
  std::vector<std::string> conditions;
  std::string parameters;

  void add(CLI::App &app);
  llvm::Expected<ImportOptions> options() const;
};

/// `--cluster-set`, as `loadCluster` reads it.
void addClusterSet(CLI::App &app, std::vector<std::string> &overrides);

/// Flags of every verb that plans: what the user fixes, and what is left to the search.
struct PinFlags {
  std::vector<std::string> pins, files;
  std::string parallel;
  bool ignoresModelShardings = false;
  CLI::Option *search = nullptr; ///< `--search`, for the modes that decide it themselves

  /// Adds `--pin`, `--pins`, `--parallel` and `--ignore-model-shardings`; returns them.
  std::vector<CLI::Option *> add(CLI::App &app);
  /// Puts what was given into `options`: pins of either flag replace those that were there.
  llvm::Error apply(PlanOptions &options) const;
};

/// One for each processor of the machine, 1 to 16.
unsigned defaultThreads();
/// `--threads`, with that default; the help is the same on every machine.
void addThreads(CLI::App &app, unsigned &numThreads);

/// `--search`, `--gap`, `--threads` and `--time-limit`; but for `--threads`, what they hold is the default.
CLI::Option *addSearchFlags(CLI::App &app, std::string &search, SearchOptions &options, const std::string &timeLimit);

/// Makes the first Ctrl-C stop searches with the best answer they have; the second ends the process as usual.
void stopOnInterrupt(SearchOptions &options);
/// The progress of a search, as a line for stderr.
void printProgress(const SearchProgress &progress);

} // namespace apc

// Flags that several verbs have in common, beside those of the table of settings.
#pragma once

#include "apc/Planning/Planning.h"

#include <CLI/CLI.hpp>

namespace apc {

/// A flag that may be given many times and takes one value each time, so that a positional may follow it.
CLI::Option *addRepeatable(CLI::App &app, const std::string &name, std::vector<std::string> &values,
                           const std::string &description);

/// Accepts whole numbers from `least` to `most`, both included.
CLI::Validator wholeNumber(int64_t least, int64_t most);
/// Accepts texts that are not empty: `-o ''` is not meant.
CLI::Validator notEmpty();
/// Accepts seconds above 0, at most a year.
CLI::Validator seconds();
/// Accepts shares from 0 to 1.
CLI::Validator share();

/// The searches, one a line, with what they do.
std::string searchesHelp();

/// `--cluster-set`, as `loadCluster` reads it, for verbs without a request.
void addClusterSet(CLI::App &app, std::vector<std::string> &overrides);

/// One for each processor of the machine, 1 to 16.
unsigned defaultThreads();
/// At most 16, or two for each processor where that is more: others would only take memory.
unsigned usefulThreads(unsigned numThreads);
/// `--threads`, with that default; the help is the same on every machine.
void addThreads(CLI::App &app, unsigned &numThreads);

/// `--json`.
void addJson(CLI::App &app, bool &json);

/// A control with these threads that tells its progress on stderr, when that is a terminal.
PlanningControl controlWith(unsigned numThreads);
/// The same, for a verb in which the first Ctrl-C stops the searches with the best answer they have.
PlanningControl stoppableControl(unsigned numThreads);

/// Set by the first Ctrl-C after this call; the second ends the process as usual.
const std::atomic<bool> *stopOnInterrupt();
/// One line for stderr.
void printProgress(const SearchProgress &progress);

} // namespace apc

// A case of a conformance suite as programs of many ranks.
#pragma once

#include "ConformanceCase.h"

namespace apc {

struct RanksResult {
  unsigned numRun = 0;                ///< programs
  unsigned numPossible = 0;           ///< strategies, without those that take partial operands
  std::optional<std::string> failure; ///< mesh and strategy of the first that fails, and how it does
};

/// Partitions the case's model for each mesh, runs it on all ranks and compares with the outputs expected: for every op
/// under every legal strategy, all other ops being replicated, and under strategies drawn by lot for all ops at once,
/// so that operands also arrive cut and partial. Of too many strategies some are taken, spread evenly (see
/// `ConformanceOptions::maxPrograms`). Each program must also be proven by `verifyProgram`.
RanksResult runOnRanks(CaseData &data, const ConformanceOptions &options);

} // namespace apc

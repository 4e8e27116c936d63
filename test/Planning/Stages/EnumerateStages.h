// Every candidate of a problem of stages, one after the other: the oracle of its search.
#pragma once

#include "apc/Planning/Stages/SearchStages.h"

namespace apc {

struct Enumeration {
  uint64_t numCandidates = 0, numFeasible = 0;
  std::optional<StageChoice> choice; ///< the first of the fastest
  std::optional<PipelineTime> time;  ///< of it
};

/// Tries all candidates in the order of ties. It shares the generators and the simulator with the search, but neither
/// sums nor bounds.
Enumeration enumerateStages(const StageProblem &problem);

} // namespace apc

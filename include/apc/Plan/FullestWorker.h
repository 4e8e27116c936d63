// The worker of a plan whose devices need the most memory.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// A worker and its stages, as indices. Example: worker 1 of 4 workers with 2 chunks each: {1, {1, 5}}.
struct WorkerStages {
  size_t worker = 0;          ///< counted in the order of ranks
  std::vector<size_t> stages; ///< whose memory its devices hold together

  MemoryTable memory(const Plan &plan) const; ///< of one device, while all stages of the worker need most
};

/// The worker whose devices need most, the first of equal ones. Without a pipeline it is worker 0 with the one stage.
WorkerStages fullestWorker(const Plan &plan);

} // namespace apc

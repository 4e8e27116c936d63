// The order in which numbers of workers are tried.
#pragma once

#include "../PipelineTrials.h"

namespace apc {

/// Begins with each of \p workers, those near the workers of the known layout first, and goes on with those that began
/// best: few micro-batches and many workers, or the other way round, take most of the time and are rarely the fastest.
/// A third of the time limit is left for proofs. Errors: those of a trial; numbers of workers that the model or the
/// schedule does not take are left out where there are others.
llvm::Error tryWorkers(const PlanRequest &request, llvm::ArrayRef<int64_t> workers,
                       const std::optional<ParallelDegrees> &layout, PipelineTrials &trials);

} // namespace apc

// The memory of workers that hold several stages.
#pragma once

#include "../../Task.h"
#include "../CutStep.h"
#include "../PipelinePoints.h"
#include "WorkerPools.h"

#include "apc/Cost/MemoryOfStage.h"

namespace apc {

/// The memory of a stage on a worker, by what runs and what waits.
MemoryOfStage memoryOf(const StageGraph &stage, const Candidate &candidate, const Pool &worker);

/// By stage: the memory of a device at the moment when its worker, with all its stages, needs most. Where a worker has
/// several, they do not all hold their most micro-batches at once, and what a stage needs beside those that wait, it
/// needs only while it runs; their sum then is no less than any program of these stages needs under the lists of the
/// point. \p candidates: by stage, with the memory of as many micro-batches as `PipelinePoint::inFlight` says, on
/// \p workers.
///
/// Two chunks of 1 GB with 1 GB more for each micro-batch, which hold 4 and 1, then 2 and 2: {5, 2}, not {5, 3}.
std::vector<MemoryTable> memoryTogether(const PipelinePoint &point, const CutStep &step,
                                        llvm::ArrayRef<const Candidate *> candidates, const WorkerPools &workers);

} // namespace apc

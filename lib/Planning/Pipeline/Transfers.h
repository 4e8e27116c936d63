// Values on their way between the stages of a pipeline.
#pragma once

#include "../Task.h"
#include "CutStep.h"
#include "Workers/WorkerPools.h"

#include "apc/Plan/Plan.h"
#include "apc/Schedule/Pipeline/Actions.h"

namespace apc {

/// The devices of the workers at both ends of a transfer.
struct TransferEnds {
  const Pool &sender, &reader;
};

/// The seconds of a value between two workers over the links of `level`: each of its boxes goes once, spread over all
/// devices of the smaller worker, and is gathered where the reader holds it on several of them; or every device is sent
/// the piece that it holds, where that is faster; devices of a sender that has fewer then send several. \p bytes: of
/// the whole value; \p local: of a reader's piece.
double transferSeconds(const Pool &pool, TransferEnds ends, unsigned level, int64_t bytes, int64_t local);

/// The transfers of a step whose stages run the programs `candidates`, one for each reader, for links differ.
std::vector<PlanTransfer> planTransfers(const Pool &pool, const WorkerPools &workers, const PipelineShape &shape,
                                        const CutStep &step, llvm::ArrayRef<const Candidate *> candidates);

} // namespace apc

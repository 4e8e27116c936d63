// Values on their way between the stages of a pipeline.
#pragma once

#include "../Task.h"
#include "CutStep.h"

#include "apc/Plan/Plan.h"
#include "apc/Schedule/Pipeline/Actions.h"

namespace apc {

/// The seconds of a value between two workers of equal devices, over the links of `level`: each of its boxes goes once,
/// spread over all devices of a worker, and is gathered where the reader holds it on several of them; or every device
/// is sent the piece that it holds, where that is faster. \p bytes: of the whole value; \p local: of a reader's piece.
double transferSeconds(const Pool &pool, const Pool &worker, unsigned level, int64_t bytes, int64_t local);

/// The transfers of a step whose stages run the programs `candidates`.
std::vector<PlanTransfer> planTransfers(const Pool &pool, const Pool &worker, const PipelineShape &shape,
                                        const CutStep &step, llvm::ArrayRef<const Candidate *> candidates);

} // namespace apc

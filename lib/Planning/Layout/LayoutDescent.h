// From one layout to better ones.
#pragma once

#include "apc/Planning/ExpertLayouts.h"

namespace apc {

/// The layouts beside another one, each with one thing changed: half or twice as many ways of tp, with as many
/// micro-batches where that is possible; twice or half as many workers, with as many stages; two or three times as many
/// chunks, half as many again, or three or two quarters of them; twice or half as many samples in a micro-batch;
/// another policy of recomputation. dp takes the other devices, and experts are spread over as many of its ranks as can
/// be. \p mostTensor: ways of tp.
std::vector<ParallelDegrees> neighboursOf(const ParallelDegrees &layout, const StepSizes &step, int64_t mostTensor);

/// The last of the layouts that follow \p from, each a neighbour of the one before and faster than that, until no
/// neighbour is. One that would be but does not fit is tried once more with the next policy of recomputation. \p
/// mayTry: of layouts, whether the request allows them. Errors: those of \p tryLayout.
llvm::Expected<EvaluatedLayout> improveLayout(EvaluatedLayout from, const StepSizes &step, int64_t mostTensor,
                                              MayTryLayout mayTry, TryLayout tryLayout);

} // namespace apc

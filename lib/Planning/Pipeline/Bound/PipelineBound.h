// Seconds below which no pipeline of a number of workers ends a step.
#pragma once

#include "../../Task.h"
#include "../Workers/WorkerPools.h"

#include "apc/Planning/PipelineBound.h"

namespace apc {

/// Bounds of the step of every pipeline of these workers, whatever its cuts, schedule and strategies: an even share
/// of what ops take under their fastest strategies on the devices of a worker; one micro-batch through all stages and
/// back, where gradients of weights need not wait for each other; and the minima of layers, for which searches take
/// `seconds`; where workers are unequal, what all devices share evenly alone. Meshes have as many axes as searches of
/// `whole` may come to. Errors: those of the searches.
llvm::Expected<PipelineBound> leastPipelineSeconds(const PlanningTask &whole, const WorkerPools &workers,
                                                   double seconds);

/// A bound that costs nothing: all devices share what the ops take on one of them, evenly. No op on a part of its work
/// takes less than that part of its seconds.
double leastSharedSeconds(const PlanningTask &whole);

} // namespace apc

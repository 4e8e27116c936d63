// Seconds below which no pipeline of a number of workers ends a step.
#pragma once

#include "../../Task.h"

#include "apc/Planning/PipelineBound.h"

namespace apc {

/// Bounds of the step of every pipeline of so many workers, whatever its cuts, schedule and strategies. All
/// micro-batches and the update are spread over the workers: one of them has at least an even share of what ops take
/// under their fastest strategies on the devices of a worker, and at least `leastSecondsOfLayers`, for which searches
/// take `seconds`. One micro-batch goes through all stages and back, where gradients of weights need not wait for each
/// other. Meshes have as many axes as searches of `whole` may come to. Errors: those of the searches.
llvm::Expected<PipelineBound> leastPipelineSeconds(const PlanningTask &whole, int64_t workers, double seconds);

/// A bound that costs nothing: all devices share what the ops take on one of them, evenly. No op on a part of its work
/// takes less than that part of its seconds.
double leastSharedSeconds(const PlanningTask &whole);

/// The busiest worker with collectives: a stage is a run of layers, between places where the model may be cut, and
/// takes no less than its layers take for themselves, each under its best strategies whatever its neighbours and the
/// memory; its values may be exchanged together with those of other layers. Some worker has no less to do than the
/// busiest under the best distribution of layers (`leastLargestShare`). 0 where layers that may stand in one stage
/// share a parameter, whose exchange would count twice, and where one layer's collectives may hide behind another's
/// ops. Searches end after `seconds`; layers that are left count nothing. Errors: those of the searches.
llvm::Expected<double> leastSecondsOfLayers(const PlanningTask &whole, int64_t workers, double seconds);

} // namespace apc

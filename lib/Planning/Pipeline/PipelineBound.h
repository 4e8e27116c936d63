// Seconds below which no pipeline of a number of workers ends a step.
#pragma once

#include "../Task.h"

namespace apc {

/// A bound of the step of every pipeline of so many workers, whatever its cuts, schedule and strategies: no op of a
/// stage takes less than under its fastest strategy on the devices of a worker. All micro-batches and the update are
/// spread over the workers, one of which has at least its even share; one micro-batch goes through all stages and back.
/// Meshes have as many axes as searches of `whole` may come to.
double leastPipelineSeconds(const PlanningTask &whole, int64_t workers);

/// The same with collectives: a stage is a run of layers, between places where the model may be cut, and takes no less
/// than its layers take for themselves, each under its best strategies whatever its neighbours and the memory; its
/// values may be exchanged together with those of other layers. Some worker has no less to do than the busiest under
/// the best distribution of layers (`leastLargestShare`). 0 where layers that may stand in one stage share a parameter,
/// whose exchange would count twice, and where one layer's collectives may hide behind another's ops. Searches end
/// after `seconds`; layers that are left count nothing. Errors: those of the searches.
llvm::Expected<double> leastSecondsOfLayers(const PlanningTask &whole, int64_t workers, double seconds);

} // namespace apc

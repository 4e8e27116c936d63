// The devices of each worker, where a request leaves them open.
#pragma once

#include "../../Task.h"
#include "WorkerPools.h"

namespace apc {

/// The workers of a step: those that the request names; as many equal ones as it asks for; or where the devices are no
/// so many equal groups, the groups whose busiest worker has the least to do, if devices share its layers evenly: nodes
/// and parts of nodes. Errors (input): no groups are possible, or the model has too few places to cut it.
llvm::Expected<WorkerPools> chooseWorkers(const PlanningTask &whole);

/// By worker, the devices so that the parts, in consecutive groups, weigh least by device in the heaviest group; none
/// where devices or parts are too few. {1, 1, 1, 1} on a node of 6 for two workers: {3, 3}; for four: {1, 1, 2, 2} or
/// another order, the first found.
std::optional<std::vector<int64_t>> balancedDevices(const Pool &pool, llvm::ArrayRef<double> parts, size_t workers);

} // namespace apc

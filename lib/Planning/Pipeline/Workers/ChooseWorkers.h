// The devices of each worker, where a request leaves them open.
#pragma once

#include "../../Task.h"
#include "WorkerPools.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// The workers of a step: those that the request names; as many equal ones as it asks for; or where the devices are no
/// so many equal groups, the groups whose busiest worker has the least to do, if devices share its layers evenly: nodes
/// and parts of nodes, of numbers of devices that can share most of the work so where there are any. Errors (input): no
/// groups are possible, or the model has too few places to cut it.
llvm::Expected<WorkerPools> chooseWorkers(const PlanningTask &whole);

/// The sizes of groups that are tried.
using GroupSizes = llvm::function_ref<bool(size_t)>;

/// By worker, the devices so that the parts, in consecutive groups, weigh least by device in the heaviest group; none
/// where devices or parts are too few. {1, 1, 1, 1} on a node of 6 for two workers: {3, 3}; for four: {1, 1, 2, 2} or
/// another order, the first found. Groups are of the sizes that \p isTried allows.
std::optional<std::vector<int64_t>> balancedDevices(
    const Pool &pool, llvm::ArrayRef<double> parts, size_t workers, GroupSizes isTried = [](size_t) { return true; });

/// By size up to that of \p most: most FLOPs of contractions have a dim that so many devices cut evenly. Of layers with
/// dims of 4,096 and 32 heads: 1, 2, 4, 8, but not 3 and 6.
std::vector<bool> evenSizes(const OpGraph &graph, size_t most);

} // namespace apc

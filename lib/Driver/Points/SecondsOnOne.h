// Steps with several policies of recomputation, weighed on one device.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Graph/OpGraph.h"
#include "apc/Plan/PlanRequest.h"
#include "apc/Support/WorkClock.h"

#include <optional>
#include <vector>

namespace apc {

/// The seconds of all ops where each device of \p pool does all of them.
double secondsOnOne(const OpGraph &graph, const Pool &pool);

/// The same of the steps of \p request with each of \p policies, from steps of few layers: each layer beyond those adds
/// as much as the last one of them. None where no layers repeat, where several runs of them do, where a policy counts
/// layers, or where a step cannot be built. Steps that are built are counted on \p clock.
std::optional<std::vector<double>> secondsByLayers(const PlanRequest &request,
                                                   llvm::ArrayRef<RecomputeSetting> policies, const Pool &pool,
                                                   WorkClock &clock);

} // namespace apc

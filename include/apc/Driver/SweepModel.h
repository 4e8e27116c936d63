// `apc sweep`: one model planned for several device counts and clusters.
#pragma once

#include "apc/Planning/Planning.h"
#include "apc/Report/PrintSweep.h"

namespace apc {

/// A cell for each of `requests`, which differ in cluster and devices: by cluster in their order, by ascending devices,
/// each once. A cell for which nothing fits has its reason; cells that the user did not wait for say so. Errors: those
/// of `planModel`, but for NoPlan.
llvm::Expected<std::vector<SweepCell>> sweepModel(std::vector<PlanRequest> requests, const PlanningControl &control);

} // namespace apc

// Micro-batches that the nodes of a worker share evenly.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Plan/PlanRequest.h"

#include "llvm/ADT/ArrayRef.h"

namespace apc {

/// Those of \p points, the nearest first, without ones whose next neighbour can be shared more evenly. \p pool: all
/// devices.
std::vector<PlanRequest> evenlyShared(const Pool &pool, llvm::ArrayRef<PlanRequest> points);

/// The place in \p points, of so many workers, where trials begin: some 8 micro-batches a worker, more or fewer where
/// its nodes share them more evenly.
size_t firstToTry(const Pool &pool, int64_t workers, llvm::ArrayRef<PlanRequest> points);

} // namespace apc

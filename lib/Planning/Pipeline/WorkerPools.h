// The devices of a pipeline's workers.
#pragma once

#include "apc/Cluster/Cluster.h"

#include "llvm/Support/Error.h"

#include <optional>

namespace apc {

/// The devices of one of `workers` equal workers, each of which has neighbouring ranks: eight nodes of 8 for 16 workers
/// are levels {1, 4} for each. None where a worker's devices are no whole groups: 12 devices on nodes of 8.
std::optional<Pool> poolOfWorker(const Pool &pool, int64_t workers);

/// The numbers of workers for which there is such a pool, ascending.
std::vector<int64_t> possibleWorkers(const Pool &pool);

/// Errors (input): there is no such pool. \p source: what asks for the workers, "--pipeline 3".
llvm::Error checkWorkers(const Pool &pool, int64_t workers, llvm::StringRef source);

/// The outermost level whose links lie between two ranks of `pool`.
unsigned levelBetween(const Pool &pool, int64_t rank, int64_t other);

} // namespace apc

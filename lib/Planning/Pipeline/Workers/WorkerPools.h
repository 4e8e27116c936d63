// The devices of a pipeline's workers.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Plan/PipelineChoice.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace apc {

/// The devices of one of `workers` equal workers, each of which has neighbouring ranks: eight nodes of 8 for 16 workers
/// are levels {1, 4} for each. None where a worker's devices are no whole groups: 12 devices on nodes of 8.
std::optional<Pool> poolOfWorker(const Pool &pool, int64_t workers);

/// The sizes of the levels that `devices` ranks from `first` on have of their own, of a pool with such \p levels that
/// has these ranks: {1, 3} of a node of {4, 8}. None where they are neither a part of a node nor whole nodes.
std::optional<llvm::SmallVector<int64_t, 4>> sizesOfRanks(llvm::ArrayRef<int64_t> levels, int64_t first,
                                                          int64_t devices);

/// `devices` ranks from `first` on, as a pool of their own: a part of a node, or whole nodes. None where they are
/// neither.
std::optional<Pool> poolOfRanks(const Pool &pool, int64_t first, int64_t devices);

/// The numbers of equal workers for which there is such a pool, ascending.
std::vector<int64_t> possibleWorkers(const Pool &pool);

/// The devices of all workers of a pipeline; those that are alike share a pool.
class WorkerPools {
public:
  /// There is such a pool.
  static WorkerPools equal(const Pool &pool, int64_t workers);
  /// None where the numbers do not add up to all devices, or those of a worker are no pool.
  static std::optional<WorkerPools> of(const Pool &pool, llvm::ArrayRef<int64_t> devices);

  int64_t count() const { return static_cast<int64_t>(firstRanks.size()); }
  const Pool &pool(uint32_t worker) const { return kinds[kindOf[worker]]; }
  int64_t firstRank(uint32_t worker) const { return firstRanks[worker]; }
  bool areEqual() const { return kinds.size() == 1; }
  /// The devices of a stage's worker, in parts of the most that one has; stages are workers where these are unequal.
  double strengthOf(uint32_t stage) const;
  /// By worker; empty where they are equal.
  std::vector<int64_t> unequalDevices() const;

private:
  std::vector<Pool> kinds;
  std::vector<size_t> kindOf; ///< by worker
  std::vector<int64_t> firstRanks;
};

/// The workers that a request names. Errors (input): there are no such pools; accepted numbers are named. \p source:
/// the text that asks for the workers, "--pipeline 3".
llvm::Expected<WorkerPools> workersOf(const Pool &pool, const PipelineChoice &choice, llvm::StringRef source);

/// The outermost level whose links lie between two ranks of `pool`.
unsigned levelBetween(const Pool &pool, int64_t rank, int64_t other);

} // namespace apc

// Parts of a pool whose ranks are neighbours.
#include "WorkerPools.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

std::optional<Pool> poolOfWorker(const Pool &pool, int64_t workers) {
  if (workers < 1 || pool.numDevices() % workers != 0)
    return std::nullopt;
  Pool own = pool;
  int64_t left = pool.numDevices() / workers;
  for (size_t level = own.levels.size(); level-- > 0;) {
    int64_t &size = own.levels[level].size;
    int64_t taken = left % size == 0 ? size : left;
    if (size % taken != 0)
      return std::nullopt;
    size = taken;
    left /= taken;
  }
  return left == 1 ? std::optional(std::move(own)) : std::nullopt;
}

std::vector<int64_t> possibleWorkers(const Pool &pool) {
  std::vector<int64_t> possible;
  for (int64_t workers = 1; workers <= pool.numDevices(); ++workers)
    if (poolOfWorker(pool, workers))
      possible.push_back(workers);
  return possible;
}

llvm::Error checkWorkers(const Pool &pool, int64_t workers, llvm::StringRef source) {
  if (poolOfWorker(pool, workers))
    return llvm::Error::success();
  std::string possible =
      llvm::join(llvm::map_range(possibleWorkers(pool), [](int64_t count) { return std::to_string(count); }), ", ");
  return inputError("{0}: the {1} devices are no {2} equal groups of neighbours; accepted are {3}", source,
                    pool.numDevices(), workers, possible);
}

unsigned levelBetween(const Pool &pool, int64_t rank, int64_t other) {
  int64_t below = pool.numDevices();
  for (unsigned level = 0; level < pool.levels.size(); ++level) {
    below /= pool.levels[level].size;
    if (rank / below != other / below)
      return level;
  }
  return static_cast<unsigned>(pool.levels.size()) - 1;
}

} // namespace apc

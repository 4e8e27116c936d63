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

std::optional<llvm::SmallVector<int64_t, 4>> sizesOfRanks(llvm::ArrayRef<int64_t> levels, int64_t first,
                                                          int64_t devices) {
  llvm::SmallVector<int64_t, 4> sizes(levels.begin(), levels.end());
  int64_t left = devices;
  for (int64_t &size : llvm::reverse(sizes)) {
    bool isInside = first / size == (first + left - 1) / size;
    bool isWhole = first % size == 0 && left % size == 0;
    if (!isInside && !isWhole)
      return std::nullopt;
    int64_t taken = isInside ? left : size;
    first /= size;
    left = isInside ? 1 : left / size;
    size = taken;
  }
  return sizes;
}

std::optional<Pool> poolOfRanks(const Pool &pool, int64_t first, int64_t devices) {
  if (devices < 1 || first < 0 || first + devices > pool.numDevices())
    return std::nullopt;
  auto sizes = sizesOfRanks(pool.levelSizes(), first, devices);
  if (!sizes)
    return std::nullopt;
  Pool own = pool;
  for (auto [level, size] : llvm::zip_equal(own.levels, *sizes))
    level.size = size;
  return own;
}

WorkerPools WorkerPools::equal(const Pool &pool, int64_t workers) {
  std::optional<Pool> own = poolOfWorker(pool, workers);
  assert(own && "the number of workers has been checked");
  WorkerPools pools;
  const int64_t devices = own->numDevices();
  pools.kinds.push_back(std::move(*own));
  pools.kindOf.assign(static_cast<size_t>(workers), 0);
  for (int64_t worker = 0; worker < workers; ++worker)
    pools.firstRanks.push_back(worker * devices);
  return pools;
}

std::optional<WorkerPools> WorkerPools::of(const Pool &pool, llvm::ArrayRef<int64_t> devices) {
  WorkerPools pools;
  std::vector<llvm::SmallVector<int64_t, 4>> sizes; ///< of levels, by kind
  int64_t first = 0;
  for (int64_t own : devices) {
    std::optional<Pool> ofWorker = poolOfRanks(pool, first, own);
    if (!ofWorker)
      return std::nullopt;
    llvm::SmallVector<int64_t, 4> levels = ofWorker->levelSizes();
    size_t kind = llvm::find(sizes, levels) - sizes.begin();
    if (kind == sizes.size()) {
      sizes.push_back(std::move(levels));
      pools.kinds.push_back(std::move(*ofWorker));
    }
    pools.kindOf.push_back(kind);
    pools.firstRanks.push_back(first);
    first += own;
  }
  return first == pool.numDevices() ? std::optional(std::move(pools)) : std::nullopt;
}

double WorkerPools::strengthOf(uint32_t stage) const {
  if (areEqual())
    return 1;
  int64_t most = 0;
  for (const Pool &kind : kinds)
    most = std::max(most, kind.numDevices());
  return static_cast<double>(pool(stage).numDevices()) / static_cast<double>(most);
}

std::vector<int64_t> WorkerPools::unequalDevices() const {
  std::vector<int64_t> devices;
  for (uint32_t worker = 0; !areEqual() && worker < kindOf.size(); ++worker)
    devices.push_back(pool(worker).numDevices());
  return devices;
}

llvm::Expected<WorkerPools> workersOf(const Pool &pool, const PipelineChoice &choice, llvm::StringRef source) {
  if (!choice.devices.empty()) {
    if (std::optional<WorkerPools> pools = WorkerPools::of(pool, choice.devices))
      return std::move(*pools);
    return inputError("{0}: accepted are numbers that add up to the {1} devices, each of them neighbours: whole nodes "
                      "of {2} or parts of one node",
                      source, pool.numDevices(), pool.levelSizes().back());
  }
  if (poolOfWorker(pool, *choice.count))
    return WorkerPools::equal(pool, *choice.count);
  std::string possible =
      llvm::join(llvm::map_range(possibleWorkers(pool), [](int64_t count) { return std::to_string(count); }), ", ");
  return inputError("{0}: the {1} devices are no {2} equal groups of neighbours; accepted are {3}", source,
                    pool.numDevices(), *choice.count, possible);
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

// Workers and cuts: equal groups of neighbouring devices, and groups of layers against every grouping.
#include "../../../lib/Planning/Pipeline/BalancedCuts.h"
#include "../../../lib/Planning/Pipeline/WorkerPools.h"

#include <catch2/catch.hpp>

#include <numeric>
#include <random>

using namespace apc;

namespace {

/// 4 nodes of 8 devices, or other counts.
Pool poolOf(llvm::ArrayRef<int64_t> counts) {
  Pool pool;
  pool.levels.resize(counts.size());
  for (auto [level, count] : llvm::zip_equal(pool.levels, counts)) {
    level.name = "level" + std::to_string(&level - pool.levels.data());
    level.size = count;
  }
  return pool;
}

std::vector<int64_t> countsOf(const std::optional<Pool> &pool) {
  REQUIRE(pool);
  llvm::SmallVector<int64_t, 4> sizes = pool->levelSizes();
  return std::vector<int64_t>(sizes.begin(), sizes.end());
}

/// The heaviest group and the sum of squares.
std::pair<double, double> weightOf(llvm::ArrayRef<double> parts, llvm::ArrayRef<size_t> firsts) {
  std::pair<double, double> weight{0, 0};
  for (size_t group = 0; group <= firsts.size(); ++group) {
    size_t begin = group == 0 ? 0 : firsts[group - 1], end = group == firsts.size() ? parts.size() : firsts[group];
    double sum = std::accumulate(parts.begin() + begin, parts.begin() + end, 0.0);
    weight = {std::max(weight.first, sum), weight.second + sum * sum};
  }
  return weight;
}

/// The least weight of all groupings, from `first` on.
std::pair<double, double> leastWeight(llvm::ArrayRef<double> parts, size_t numGroups, std::vector<size_t> firsts) {
  if (firsts.size() + 1 == numGroups)
    return weightOf(parts, firsts);
  std::optional<std::pair<double, double>> least;
  size_t begin = firsts.empty() ? 1 : firsts.back() + 1;
  for (size_t first = begin; first < parts.size(); ++first) {
    size_t left = numGroups - firsts.size() - 2; // groups behind the one that begins here, and their parts
    if (first + left >= parts.size())
      break;
    std::vector<size_t> more = firsts;
    more.push_back(first);
    std::pair<double, double> own = leastWeight(parts, numGroups, more);
    least = std::min(own, least.value_or(own));
  }
  REQUIRE(least);
  return *least;
}

} // namespace

TEST_CASE("workers are equal groups of neighbouring devices") {
  Pool pool = poolOf({4, 8});
  CHECK(countsOf(poolOfWorker(pool, 1)) == std::vector<int64_t>{4, 8});
  CHECK(poolOfWorker(pool, 2)->numDevices() == 16);
  CHECK(poolOfWorker(pool, 4)->numDevices() == 8);
  CHECK(poolOfWorker(pool, 8)->numDevices() == 4);
  CHECK_FALSE(poolOfWorker(pool, 3));
  CHECK_FALSE(poolOfWorker(pool, 64));
  CHECK(possibleWorkers(pool) == std::vector<int64_t>{1, 2, 4, 8, 16, 32});
  // 3 nodes of 4: two workers would share a node.
  CHECK(possibleWorkers(poolOf({3, 4})) == std::vector<int64_t>{1, 3, 6, 12});
}

TEST_CASE("the links between two ranks are those of the outermost level that parts them") {
  Pool pool = poolOf({4, 8});
  CHECK(levelBetween(pool, 0, 8) == 0);
  CHECK(levelBetween(pool, 7, 31) == 0);
  CHECK(levelBetween(pool, 8, 15) == 1);
}

TEST_CASE("groups of parts are balanced like the best of all groupings") {
  CHECK(balancedGroups({3, 1, 1, 3}, 2) == std::vector<size_t>{2});
  CHECK(balancedGroups({1, 1, 1}, 3) == std::vector<size_t>{1, 2});
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> parts(3 + random() % 7);
    for (double &part : parts)
      part = static_cast<double>(1 + random() % 9);
    size_t numGroups = 1 + random() % parts.size();
    std::vector<size_t> firsts = balancedGroups(parts, numGroups);
    REQUIRE(firsts.size() + 1 == numGroups);
    REQUIRE(std::is_sorted(firsts.begin(), firsts.end()));
    std::pair<double, double> own = weightOf(parts, firsts), least = leastWeight(parts, numGroups, {});
    CHECK(own.first == least.first);
    CHECK(own.second == Approx(least.second));
  }
}

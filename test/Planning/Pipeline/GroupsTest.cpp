// Workers and cuts: equal groups of neighbouring devices, and groups of layers against every grouping.
#include "../../../lib/Planning/Pipeline/BalancedCuts.h"
#include "../../../lib/Planning/Pipeline/Workers/ChooseWorkers.h"

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

/// The heaviest group and the sum of squares, each group's weight being its parts by its strength.
std::pair<double, double> weightOf(llvm::ArrayRef<double> parts, llvm::ArrayRef<double> strengths,
                                   llvm::ArrayRef<size_t> firsts) {
  std::pair<double, double> weight{0, 0};
  for (size_t group = 0; group <= firsts.size(); ++group) {
    size_t begin = group == 0 ? 0 : firsts[group - 1], end = group == firsts.size() ? parts.size() : firsts[group];
    double sum = std::accumulate(parts.begin() + begin, parts.begin() + end, 0.0) / strengths[group];
    weight = {std::max(weight.first, sum), weight.second + sum * sum};
  }
  return weight;
}

/// The least weight of all groupings, from `first` on.
std::pair<double, double> leastWeight(llvm::ArrayRef<double> parts, llvm::ArrayRef<double> strengths,
                                      std::vector<size_t> firsts) {
  const size_t numGroups = strengths.size();
  if (firsts.size() + 1 == numGroups)
    return weightOf(parts, strengths, firsts);
  std::optional<std::pair<double, double>> least;
  size_t begin = firsts.empty() ? 1 : firsts.back() + 1;
  for (size_t first = begin; first < parts.size(); ++first) {
    size_t left = numGroups - firsts.size() - 2; // groups behind the one that begins here, and their parts
    if (first + left >= parts.size())
      break;
    std::vector<size_t> more = firsts;
    more.push_back(first);
    std::pair<double, double> own = leastWeight(parts, strengths, more);
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

TEST_CASE("unequal workers are whole nodes or parts of one") {
  Pool pool = poolOf({4, 8});
  CHECK(countsOf(poolOfRanks(pool, 8, 16)) == std::vector<int64_t>{2, 8});
  CHECK(countsOf(poolOfRanks(pool, 9, 7)) == std::vector<int64_t>{1, 7});
  CHECK_FALSE(poolOfRanks(pool, 4, 8));
  CHECK_FALSE(poolOfRanks(pool, 8, 12));
  CHECK_FALSE(poolOfRanks(pool, 24, 16));
  std::optional<WorkerPools> workers = WorkerPools::of(pool, {16, 3, 5, 8});
  REQUIRE(workers);
  CHECK_FALSE(workers->areEqual());
  CHECK(workers->count() == 4);
  CHECK(workers->firstRank(2) == 19);
  CHECK(workers->pool(2).numDevices() == 5);
  CHECK(workers->unequalDevices() == std::vector<int64_t>{16, 3, 5, 8});
  CHECK_FALSE(WorkerPools::of(pool, {16, 8}));
  CHECK_FALSE(WorkerPools::of(pool, {12, 20}));
  CHECK(WorkerPools::of(pool, {16, 16})->areEqual());
}

TEST_CASE("devices of workers are balanced like the best of all groups") {
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 200; ++trial) {
    Pool pool = trial % 2 ? poolOf({2, 4}) : poolOf({1 + int64_t(random() % 7)});
    std::vector<double> parts(1 + random() % 6);
    for (double &part : parts)
      part = static_cast<double>(1 + random() % 9);
    const size_t workers = 1 + random() % 4;
    // Every composition of the devices, with the best groups of parts for it.
    std::optional<double> least;
    std::vector<int64_t> sizes(workers, 1);
    for (bool isOver = false; !isOver;) {
      if (parts.size() >= workers && WorkerPools::of(pool, sizes)) {
        std::vector<double> strengths(sizes.begin(), sizes.end());
        double own = leastWeight(parts, strengths, {}).first;
        least = std::min(own, least.value_or(own));
      }
      size_t digit = 0;
      while (digit < workers && sizes[digit] == pool.numDevices())
        sizes[digit++] = 1;
      isOver = digit == workers;
      if (!isOver)
        ++sizes[digit];
    }
    std::optional<std::vector<int64_t>> found = balancedDevices(pool, parts, workers);
    REQUIRE(found.has_value() == least.has_value());
    if (!found)
      continue;
    REQUIRE(WorkerPools::of(pool, *found));
    CHECK(leastWeight(parts, std::vector<double>(found->begin(), found->end()), {}).first == Approx(*least));
  }
}

TEST_CASE("workers have numbers of devices that cut the dims of contractions evenly") {
  FactorRuleBuilder builder;
  FactorId rows = builder.addFactor("m", 4096), columns = builder.addFactor("n", 40),
           summed = builder.addFactor("k", 64);
  builder.addOperand({{rows}, {summed}}, 16);
  builder.addOperand({{summed}, {columns}}, 16);
  builder.addResult({{rows}, {columns}}, 16);
  builder.setWork(Work::Contraction);
  builder.setFlopsPerPoint(2);
  OpGraph graph;
  graph.rules.push_back(builder.take());
  GraphOp product;
  product.rule = RuleId(0);
  graph.ops.push_back(product);
  const std::vector<bool> even = evenSizes(graph, 8);
  CHECK(even == std::vector<bool>{false, true, true, false, true, true, false, false, true});
  // Six devices in the middle would have the most even work.
  const Pool pool = poolOf({8});
  const std::vector<double> parts = {1, 6, 1};
  auto isTried = [&](size_t size) -> bool { return even[size]; };
  CHECK(balancedDevices(pool, parts, 3) == std::vector<int64_t>{1, 6, 1});
  CHECK(balancedDevices(pool, parts, 3, isTried) == std::vector<int64_t>{1, 5, 2});
  CHECK(!balancedDevices(pool, parts, 3, [](size_t size) { return size == 3; }));
}

TEST_CASE("the links between two ranks are those of the outermost level that parts them") {
  Pool pool = poolOf({4, 8});
  CHECK(levelBetween(pool, 0, 8) == 0);
  CHECK(levelBetween(pool, 7, 31) == 0);
  CHECK(levelBetween(pool, 8, 15) == 1);
}

TEST_CASE("groups of parts are balanced like the best of all groupings") {
  CHECK(balancedGroups({3, 1, 1, 3}, {1, 1}) == std::vector<size_t>{2});
  CHECK(balancedGroups({1, 1, 1}, {1, 1, 1}) == std::vector<size_t>{1, 2});
  CHECK(balancedGroups({3, 1, 1, 3}, {1, 0.5}) == std::vector<size_t>{3});
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> parts(3 + random() % 7);
    for (double &part : parts)
      part = static_cast<double>(1 + random() % 9);
    std::vector<double> strengths(1 + random() % parts.size(), 1);
    for (double &strength : strengths)
      strength = trial % 2 ? static_cast<double>(1 + random() % 4) / 4 : 1;
    std::vector<size_t> firsts = balancedGroups(parts, strengths);
    REQUIRE(firsts.size() + 1 == strengths.size());
    REQUIRE(std::is_sorted(firsts.begin(), firsts.end()));
    std::pair<double, double> own = weightOf(parts, strengths, firsts), least = leastWeight(parts, strengths, {});
    CHECK(own.first == least.first);
    CHECK(own.second == Approx(least.second));
  }
}

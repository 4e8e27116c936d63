// Pairs of policies against all mixes of policies over layers.
#include "Knapsack.h"

#include "apc/Planning/RecomputedPairs.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <vector>

using namespace apc;

namespace {

constexpr RecomputeChoice choices[] = {RecomputeChoice::Norms, RecomputeChoice::Mlp, RecomputeChoice::Full};

size_t indexOf(RecomputeChoice choice) { return std::find(choices, choices + 3, choice) - choices; }

/// A step of equal layers: its cost without recomputation, and what a layer by each of `choices` changes. It never
/// takes fewer bytes than `floor`.
struct Step {
  int64_t layers;
  StepCost none;
  StepCost each[3];
  int64_t floor = 0;

  StepCost with(const int64_t (&counts)[3]) const {
    StepCost cost = none;
    for (size_t choice = 0; choice < 3; ++choice) {
      cost.bytes += counts[choice] * each[choice].bytes;
      cost.seconds += static_cast<double>(counts[choice]) * each[choice].seconds;
    }
    cost.bytes = std::max(cost.bytes, floor);
    return cost;
  }
  StepCost with(size_t first, int64_t count, std::optional<size_t> rest = {}) const {
    int64_t counts[3] = {0, 0, 0};
    counts[first] = count;
    if (rest)
      counts[*rest] += layers - count;
    return with(counts);
  }

  /// Of all mixes of the three policies and none: a knapsack with a part for each layer.
  std::optional<double> fewestSeconds(int64_t limit) const {
    if (floor > limit)
      return std::nullopt;
    int64_t atLeast = none.bytes / layers; // bytes of a layer that keeps everything
    std::vector<RecomputeItem> items = {{atLeast, 0}};
    for (const StepCost &own : each)
      items.push_back({atLeast + own.bytes, own.seconds});
    std::vector<llvm::ArrayRef<RecomputeItem>> parts(static_cast<size_t>(layers), items);
    std::optional<double> more = fewestRecomputed(parts, limit - none.bytes % layers);
    return more ? std::optional(none.seconds + *more) : std::nullopt;
  }
};

/// The seconds of the best policy alone, and of the best pair that was planned.
struct Found {
  std::optional<double> alone, paired;
  std::string pair;
  unsigned tries = 0;
};

Found find(const Step &step, int64_t limit) {
  Found found;
  std::vector<PolicySteps> fitting;
  std::vector<RecomputeChoice> others;
  for (size_t choice = 0; choice < 3; ++choice) {
    StepCost all = step.with(choice, step.layers);
    if (all.bytes > limit) {
      others.push_back(choices[choice]);
      continue;
    }
    int64_t fewest = step.layers;
    while (fewest > 0 && step.with(choice, fewest - 1).bytes <= limit)
      --fewest;
    fitting.push_back({choices[choice], step.layers, fewest, all.seconds, step.with(choice, fewest).seconds});
    found.alone = std::min(found.alone.value_or(1e9), fitting.back().fewestSeconds);
  }
  auto plan = [&](const RecomputeSetting &own) -> llvm::Expected<std::optional<StepCost>> {
    ++found.tries;
    REQUIRE((*own.layers >= 1 && *own.layers < step.layers));
    StepCost cost = step.with(indexOf(own.policy), *own.layers, indexOf(own.rest));
    if (cost.bytes > limit)
      return std::nullopt;
    if (cost.seconds < found.paired.value_or(1e9)) {
      found.paired = cost.seconds;
      found.pair = own.str();
    }
    return cost;
  };
  REQUIRE(!searchPairs(fitting, others, limit, plan));
  return found;
}

} // namespace

TEST_CASE("Six values that are kept or made again take the fewest seconds within their bytes") {
  constexpr int64_t bytes[] = {5, 4, 3, 7, 2, 6};
  constexpr double seconds[] = {6, 5, 4, 10, 1, 5};
  std::vector<std::vector<RecomputeItem>> values;
  for (auto [kept, again] : llvm::zip_equal(bytes, seconds))
    values.push_back({{kept, 0}, {0, again}});
  std::vector<llvm::ArrayRef<RecomputeItem>> parts(values.begin(), values.end());
  constexpr std::pair<int64_t, double> best[] = {{0, 31}, {5, 25}, {9, 20}, {12, 15}, {14, 12}, {18, 9}, {27, 0}};
  for (auto [budget, fewest] : best)
    CHECK(fewestRecomputed(parts, budget) == fewest);
  CHECK(!fewestRecomputed(parts, -1));
}

TEST_CASE("A pair takes as few heavy layers as fit beside light ones") {
  // 10 layers of 10 bytes: norms saves 4 for 1 s, full 9 for 5 s. In 45 bytes norms alone leaves 60, full:7 37.
  Step step{10, {20, 100}, {{1, -4}, {4, -1}, {5, -9}}};
  Found found = find(step, 45);
  CHECK(found.pair == "full:3,norms"); // 100 - 27 - 28 = 45 bytes, 20 + 15 + 7 s instead of 20 + 35 s
  CHECK(found.paired == 42.0);
  CHECK(found.alone == 55.0);
  CHECK(step.fewestSeconds(45) == 42);
}

TEST_CASE("Bytes that no longer fall with more layers mislead no search of pairs") {
  Step step{10, {20, 100}, {{1, -4}, {4, -1}, {5, -9}}, 40};
  CHECK(find(step, 45).pair == "full:3,norms");
}

TEST_CASE("Where the light policy fits alone, or none does, no pair is planned") {
  Step step{10, {20, 100}, {{1, -4}, {4, -1}, {5, -9}}};
  CHECK(find({10, {20, 100}, {{1, -4}, {4, -4}, {5, -9}}}, 65).tries == 0);
  CHECK(find(step, 5).tries == 0);
}

TEST_CASE("The better of a policy and a pair is within one layer's seconds of the best of all mixes") {
  std::mt19937 random(3);
  unsigned pairs = 0;
  for (unsigned round = 0; round < 500; ++round) {
    Step step{static_cast<int64_t>(4 + random() % 9), {100, 0}, {}};
    double most = 0;
    for (StepCost &each : step.each) {
      each = {static_cast<double>(1 + random() % 20), -static_cast<int64_t>(1 + random() % 20)};
      most = std::max(most, each.seconds);
    }
    step.none.bytes = 20 * step.layers;
    auto limit = static_cast<int64_t>(random() % static_cast<unsigned>(20 * step.layers));
    Found found = find(step, limit);
    INFO("step " << round);
    if (!found.alone)
      continue;
    double seconds = std::min(*found.alone, found.paired.value_or(*found.alone));
    pairs += seconds < *found.alone ? 1 : 0;
    std::optional<double> best = step.fewestSeconds(limit);
    REQUIRE(best);
    CHECK(seconds >= *best - 1e-9);
    CHECK(seconds <= *best + most);
    CHECK(found.tries <= 16);
  }
  CHECK(pairs > 20);
}

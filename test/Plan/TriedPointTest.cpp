// Points that were tried: each once with its better answer, and the best of each kind where there are many.
#include "PlanSamples.h"

#include <catch2/catch.hpp>

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <random>
#include <set>

using namespace apc;

namespace {

TriedPoint pointOf(int64_t microBatches, std::optional<double> seconds, bool feasible = true) {
  TriedPoint point;
  point.microBatches = microBatches;
  point.recompute = "none";
  point.zero = "auto";
  point.stepSeconds = seconds;
  point.feasible = feasible;
  return point;
}

/// Points of 4 numbers of workers, 3 schedules, 4 numbers of micro-batches and 3 policies, in no order.
std::vector<TriedPoint> manyPoints(unsigned seed) {
  std::vector<TriedPoint> points;
  std::mt19937 random(seed);
  for (int64_t workers : {2, 4, 8, 16})
    for (const char *schedule : {"gpipe", "1f1b", "zb-h1"})
      for (int64_t microBatches : {4, 8, 16, 32})
        for (const char *policy : {"none", "norms", "full"}) {
          TriedPoint point = pointOf(microBatches, static_cast<double>(random() % 10000) / 100);
          point.workers = workers;
          point.schedule = schedule;
          point.recompute = policy;
          point.feasible = random() % 4 != 0;
          points.push_back(point);
        }
  std::shuffle(points.begin(), points.end(), random);
  return points;
}

} // namespace

TEST_CASE("of two answers to one point the better one is kept") {
  auto kept = [](TriedPoint first, TriedPoint second) {
    std::vector<TriedPoint> merged = withTried({std::move(first)}, {std::move(second)});
    REQUIRE(merged.size() == 1);
    return merged.front();
  };
  CHECK(*kept(pointOf(8, 2), pointOf(8, 1)).stepSeconds == 1);
  CHECK(*kept(pointOf(8, 1), pointOf(8, 2)).stepSeconds == 1);
  CHECK(kept(pointOf(8, 1, false), pointOf(8, 2)).feasible);
  CHECK(kept(pointOf(8, std::nullopt, false), pointOf(8, 2, false)).stepSeconds);
  TriedPoint quick = pointOf(8, 1);
  quick.isQuick = true;
  CHECK_FALSE(kept(quick, pointOf(8, 1)).isQuick);
  CHECK_FALSE(kept(pointOf(8, 1), quick).isQuick);
  CHECK(*kept(quick, pointOf(8, 2)).stepSeconds == 2);
  CHECK(withTried({pointOf(8, 1)}, {pointOf(4, 1)}).size() == 2);
}

TEST_CASE("of many points those that fit come first, by seconds, and the best of each choice stays") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<TriedPoint> points = manyPoints(seed);
    std::vector<TriedPoint> best = bestTried(points, 20);
    REQUIRE(best.size() == 20);
    auto isAhead = [](const TriedPoint &a, const TriedPoint &b) {
      return a.feasible != b.feasible ? a.feasible : *a.stepSeconds < *b.stepSeconds;
    };
    CHECK(std::is_sorted(best.begin(), best.end(), isAhead));
    auto secondsOf = [&](const std::vector<TriedPoint> &all, auto isOf) {
      std::optional<double> least;
      for (const TriedPoint &point : all)
        if (point.feasible && isOf(point))
          least = std::min(least.value_or(*point.stepSeconds), *point.stepSeconds);
      return least;
    };
    for (const TriedPoint &one : points) {
      for (auto isOf : {+[](const TriedPoint &a, const TriedPoint &b) { return a.workers == b.workers; },
                        +[](const TriedPoint &a, const TriedPoint &b) { return a.schedule == b.schedule; },
                        +[](const TriedPoint &a, const TriedPoint &b) { return a.microBatches == b.microBatches; },
                        +[](const TriedPoint &a, const TriedPoint &b) { return a.recompute == b.recompute; }}) {
        auto isAlike = [&](const TriedPoint &point) { return isOf(point, one); };
        CHECK(secondsOf(best, isAlike) == secondsOf(points, isAlike));
      }
    }
  }
  CHECK(bestTried(manyPoints(0)).size() == mostTried);
  CHECK(bestTried({pointOf(8, 2), pointOf(4, 1)}).size() == 2);
}

TEST_CASE("a plan is a point, and one beyond its limit does not fit") {
  Plan plan = samplePlan();
  TriedPoint point = triedPointOf(plan);
  CHECK(point.isPointOf(plan.tried.front()));
  CHECK(*point.stepSeconds == plan.stepSeconds);
  CHECK(point.feasible);
  plan.memoryLimitBytes = plan.memory.total() - 1;
  CHECK_FALSE(triedPointOf(plan).feasible);
  CHECK_THAT(triedPointOf(plan).reason, Catch::Contains("needs 1.00 MiB on a device, the limit is 1.00 MiB"));
  plan.pipeline = PlanPipeline{"interleaved", 2, 3, {}, {}};
  CHECK(triedPointOf(plan).workers == 2);
  CHECK(triedPointOf(plan).schedule == "interleaved");
  CHECK(triedPointOf(plan).chunks == 3);
}

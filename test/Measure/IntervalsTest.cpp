// Intervals and sources that are left out, worked by hand.
#include "apc/Measure/Intervals.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Source A with 0.9, 1, 1.1 and B with one row at 2 have equal weights: below 0.9, 1, 1.1 and 2 lie 1/6, 2/6, 3/6, 1.
std::vector<Residual> residuals() {
  return {{"A", "data", 1.1}, {"A", "data", 0.9}, {"A", "data", 1.0},  {"B", "data", 2.0},
          {"C", "data", 1.5}, {"C", "data", 3.0}, {"C", "stages", 1.0}};
}

} // namespace

TEST_CASE("an interval comes from other sources, each of which counts as one") {
  std::optional<ErrorInterval> interval = intervalWithout(residuals(), "data", "C");
  REQUIRE(interval);
  CHECK(interval->low == 0.9);
  CHECK(interval->high == 2.0);
  CHECK(interval->covers(1.5));
  CHECK(!interval->covers(3));
  CHECK(intervalWithout(residuals(), "data", "A")->low == 1.5);
}

TEST_CASE("kinds that fewer than two other sources have borrow from all kinds") {
  std::optional<ErrorInterval> interval = intervalWithout(residuals(), "stages", "A");
  REQUIRE(interval);
  CHECK(interval->low == 1.0); // the rows of B and C, whatever their kinds
  CHECK(interval->high == 3.0);
  CHECK(!intervalWithout({{"A", "data", 1}}, "data", "A"));
}

TEST_CASE("each source is judged by the others") {
  std::vector<LeftOutSource> sources = leaveOutSources(residuals());
  REQUIRE(sources.size() == 3);
  CHECK(sources[1].source == "B");
  CHECK(sources[1].rows == 1);
  CHECK(sources[1].error == Approx(0.5)); // 1 s predicted, 2 s measured
  CHECK(sources[1].factor == 1.0);        // 0.9, 1 and 1 of 0.9, 1, 1.1 and 1, 1.5, 3 are half
  CHECK(sources[1].factoredError == Approx(0.5));
  CHECK(sources[1].covered == 1);
  CHECK(sources[2].covered == 2); // 3 is beyond 2
  CHECK(*coverageOf(sources) == Approx(3.0 / 7));
  CHECK(leaveOutSources({{"A", "data", 1}}).empty());
  CHECK(!coverageOf({}));
}

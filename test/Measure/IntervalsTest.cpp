// Intervals and sources that are left out, worked by hand.
#include "apc/Measure/Intervals.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Distances of "data": A 1, 1.25 and 1.25, B 2, C 1.5 and 3, D 1, E 1.1.
std::vector<Residual> residuals() {
  return {{"A", "data", 1.25},    {"A", "data", 0.8}, {"A", "data", 1.0}, {"B", "data", 2.0},  {"C", "data", 1.5},
          {"C", "data", 1 / 3.0}, {"D", "data", 1.0}, {"E", "data", 1.1}, {"C", "stages", 1.0}};
}

} // namespace

TEST_CASE("an interval comes from rows of other sources") {
  // Of A, B, D and E: 1, 1, 1.1, 1.25, 1.25, 2, of which rank (6 + 1) * 0.8 is the last.
  std::optional<ErrorInterval> interval = intervalWithout(residuals(), "data", "C");
  REQUIRE(interval);
  CHECK(interval->low == 0.5);
  CHECK(interval->high == 2.0);
  CHECK(interval->covers(1.5));
  CHECK(!interval->covers(3));
  // Of A, C, D and E: 1, 1, 1.1, 1.25, 1.25, 1.5, 3, of which rank (7 + 1) * 0.8 is the last; of two more the last but
  // one.
  std::vector<Residual> more = residuals();
  CHECK(intervalWithout(more, "data", "B")->high == 3.0);
  more.insert(more.end(), 2, {"D", "data", 1.0});
  CHECK(intervalWithout(more, "data", "B")->high == 1.5);
}

TEST_CASE("rows of other sources that err to one side do not narrow the interval on the other") {
  std::vector<Residual> slow = {
      {"A", "data", 1.1}, {"B", "data", 1.1}, {"C", "data", 1.2}, {"D", "data", 1.25}, {"E", "data", 0.85}};
  std::optional<ErrorInterval> interval = intervalWithout(slow, "data", "E");
  REQUIRE(interval);
  CHECK(interval->covers(0.85));
  CHECK(interval->high == 1.25);
  CHECK(interval->low == 0.8);
}

TEST_CASE("kinds that fewer sources have than an interval needs borrow from all kinds") {
  std::vector<Residual> some = residuals();
  for (const char *source : {"A", "B", "D"})
    some.push_back({source, "stages", 1.0});
  CHECK(intervalWithout(some, "stages", "E")->high == 1.0); // four others have the kind
  CHECK(intervalWithout(some, "stages", "A")->high == 3.0); // three: rows of B, C, D and E, whatever their kinds
  CHECK(!intervalWithout({{"A", "data", 1}}, "data", "A"));
}

TEST_CASE("each source is judged by the others") {
  std::vector<LeftOutSource> sources = leaveOutSources(residuals());
  REQUIRE(sources.size() == 5);
  CHECK(sources[1].source == "B");
  CHECK(sources[1].rows == 1);
  CHECK(sources[1].error == Approx(0.5)); // 1 s predicted, 2 s measured
  CHECK(sources[1].factor == 1.0);        // of A's, C's, D's and E's factors 0.58 lie at 1 or below
  CHECK(sources[1].factoredError == Approx(0.5));
  CHECK(sources[1].covered == 1); // within 3
  CHECK(sources[0].covered == 3);
  CHECK(sources[2].covered == 2); // 1/3 is beyond 2
  CHECK(*coverageOf(sources) == Approx(8.0 / 9));
  CHECK(*meanCoverageOf(sources) == Approx((1 + 1 + 2.0 / 3 + 1 + 1) / 5));
  CHECK(leaveOutSources({{"A", "data", 1}}).empty());
  CHECK(!coverageOf({}));
  CHECK(!meanCoverageOf({}));
}

TEST_CASE("a kind of layout has an interval from all sources") {
  std::vector<KindInterval> intervals = intervalsByKind(residuals());
  REQUIRE(intervals.size() == 2);
  CHECK(intervals[0].kind == "data");
  // Rank (8 + 1) * 0.8 of eight rows is the last.
  CHECK(intervals[0].interval.high == 3.0);
  CHECK(intervals[0].interval.low == Approx(1 / 3.0));
  CHECK(intervals[1].kind == "stages"); // of one source: that of all rows
  CHECK(intervals[1].interval.high == intervalWithout(residuals(), "none of them", std::nullopt)->high);
}

TEST_CASE("rows that name no source count for the intervals of kinds") {
  std::vector<KindInterval> unnamed = intervalsByKind({{"", "data", 2.0}, {"", "data", 1.0}});
  REQUIRE(unnamed.size() == 1);
  CHECK(unnamed[0].interval.high == 2.0);
  std::vector<Residual> partly = residuals();
  partly.push_back({"", "data", 5.0});
  // Rank (9 + 1) * 0.8 of nine rows is the last but one.
  CHECK(intervalsByKind(partly)[0].interval.high == 3.0);
  partly.push_back({"", "data", 4.0});
  // Rank (10 + 1) * 0.8, rounded up, of ten rows is the last but one.
  CHECK(intervalsByKind(partly)[0].interval.high == 4.0);
}

// Statistics against numbers worked by hand.
#include "apc/Measure/Statistics.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("errors are shares of what was measured") {
  // 3 for 2: +0.5; 1 for 2: -0.5; 4.4 for 4: +0.1
  std::vector<Compared> pairs = {{3, 2}, {1, 2}, {4.4, 4}};
  CHECK(*meanAbsoluteError(pairs) == Approx((0.5 + 0.5 + 0.1) / 3));
  CHECK(*bias(pairs) == Approx(0.1 / 3));
  // Sorted 0.1, 0.5, 0.5: the 0.9 quantile stands at 1.8, between equal numbers; 0.25 at 0.5, between 0.1 and 0.5.
  CHECK(*errorQuantile(pairs, 0.9) == Approx(0.5));
  CHECK(*errorQuantile(pairs, 0.25) == Approx(0.3));
}

TEST_CASE("nothing has no mean") {
  CHECK(!meanAbsoluteError({}));
  CHECK(!bias({}));
  CHECK(!errorQuantile({}, 0.9));
  CHECK(!rankCorrelation(Compared{1, 2}));
}

TEST_CASE("quantiles lie between neighbours") {
  CHECK(*quantile({8, 1, 4, 2}, 0.5) == Approx(3));
  CHECK(*quantile({8, 1, 4, 2}, 1) == Approx(8));
  CHECK(*quantile({8, 1, 4, 2}, 0) == Approx(1));
  CHECK(*quantile({5}, 0.9) == Approx(5));
}

TEST_CASE("ranks are correlated, and ties share their rank") {
  std::vector<Compared> same = {{1, 10}, {2, 20}, {3, 400}}, opposite = {{3, 10}, {2, 20}, {1, 400}};
  CHECK(*rankCorrelation(same) == Approx(1));
  CHECK(*rankCorrelation(opposite) == Approx(-1));
  // Ranks of predictions 1, 2.5, 2.5, 4 and of measurements 1, 2, 3, 4: deviations (-1.5, 0, 0, 1.5) and
  // (-1.5, -0.5, 0.5, 1.5); 4.5 / sqrt(4.5 * 5).
  std::vector<Compared> tied = {{1, 1}, {2, 2}, {2, 3}, {5, 9}};
  CHECK(*rankCorrelation(tied) == Approx(0.9486832980505138));
  CHECK(!rankCorrelation({{1, 1}, {1, 2}}));
}

TEST_CASE("precision and recall of outcomes") {
  Outcomes outcomes;
  CHECK(!outcomes.precision());
  CHECK(!outcomes.recall());
  for (int count = 0; count < 3; ++count)
    outcomes.add(/*predicted=*/true, /*happened=*/true);
  outcomes.add(true, false);
  outcomes.add(false, true);
  outcomes.add(false, true);
  outcomes.add(false, false);
  CHECK(*outcomes.precision() == Approx(0.75)); // 3 of 4
  CHECK(*outcomes.recall() == Approx(0.6));     // 3 of 5
}

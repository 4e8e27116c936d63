// Messages about searches that did not end by themselves.
#include "apc/Search/SearchEnd.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// 10 s, of which the bound leaves 20 % open.
const SearchResult open{SearchStatus::Feasible, {}, 10, 0, 8, 0, "", {}};
const SearchOptions options{.timeLimitSeconds = 60, .gapTolerance = 0.1};

} // namespace

TEST_CASE("the clock ended a search that took all its time and has something left to find") {
  CHECK(endOf(open, options, 60) == SearchEnd::TimeLimit);
  CHECK(endOf(open, options, 59.9) == SearchEnd::Finished);
  SearchResult within = open, optimal = open;
  within.lowerBoundSeconds = 9.5;
  optimal.status = SearchStatus::Optimal;
  CHECK(endOf(within, options, 61) == SearchEnd::Finished);
  CHECK(endOf(optimal, options, 61) == SearchEnd::Finished);
  CHECK(endWithout(options, 61) == SearchEnd::TimeLimit);
}

TEST_CASE("the user ended a search that was stopped before it was done") {
  std::atomic<bool> stop = false;
  SearchOptions stoppable = options;
  stoppable.stop = &stop;
  CHECK(endOf(open, stoppable, 1) == SearchEnd::Finished);
  stop = true;
  CHECK(endOf(open, stoppable, 1) == SearchEnd::Interrupt);
  CHECK(endWithout(stoppable, 1) == SearchEnd::Interrupt);
}

TEST_CASE("a note names the limit and how many meshes it ended") {
  CHECK(timeLimitNotes({SearchEnd::Finished, SearchEnd::Interrupt}, options).empty());
  std::vector<std::string> one = timeLimitNotes(SearchEnd::TimeLimit, options);
  REQUIRE(one.size() == 1);
  CHECK_THAT(one[0], Catch::StartsWith("the time limit of 60 s ended the search before it was done: "));
  std::vector<std::string> some =
      timeLimitNotes({SearchEnd::TimeLimit, SearchEnd::Finished, SearchEnd::TimeLimit, SearchEnd::Interrupt}, options);
  REQUIRE(some.size() == 1);
  CHECK(some[0] == "the time limit of 60 s ended the search of 2 of 4 meshes before it was done: another run may find "
                   "another answer, and with more time (--time-limit) a better one");
}

TEST_CASE("A note says that another run may end elsewhere only where its clock depends on the machine") {
  SearchOptions counted = options;
  counted.clock = std::make_shared<WorkClock>(3600);
  std::vector<std::string> same = timeLimitNotes(SearchEnd::TimeLimit, counted);
  REQUIRE(same.size() == 1);
  CHECK(same[0] == "the time limit of 60 s ended the search before it was done: with more time (--time-limit) it may "
                   "find a better answer");
  counted.clock->spendMeasured(1);
  CHECK_THAT(timeLimitNotes(SearchEnd::TimeLimit, counted).at(0), Catch::Contains("another run may find another"));
}

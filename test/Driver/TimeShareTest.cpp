// Notes of plans that had a share of the time name the limit that the user set.
#include "../../lib/Driver/Training/TimeShare.h"

#include "apc/Search/SearchEnd.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Notes name the limit of the request in place of a share that nobody set") {
  SearchOptions options;
  options.timeLimitSeconds = 10.29;
  PlanRequest point, part, request;
  point.timeLimitSeconds = options.timeLimitSeconds;
  part.timeLimitSeconds = 12;
  request.timeLimitSeconds = 20;
  Plan plan;
  plan.request = point;
  plan.notes = timeLimitNotes(SearchEnd::TimeLimit, options);
  plan.notes.push_back("the time limit of 10.29 s was over before all references were costed: dp is missing");
  plan.notes.push_back("another note");
  CHECK(withTimeLimitOf(point, plan).notes == plan.notes);
  Plan whole = withTimeLimitOf(request, withTimeLimitOf(part, plan));
  CHECK(whole.request.timeLimitSeconds == 20);
  CHECK_THAT(whole.notes.at(0), Catch::StartsWith("its share of the time limit of 20 s ended the search before"));
  CHECK(whole.notes.at(1) ==
        "its share of the time limit of 20 s was over before all references were costed: dp is missing");
  CHECK(whole.notes.at(2) == "another note");
}

TEST_CASE("A layout in place of a plan has the notes on the search and the references that the time ended") {
  SearchOptions options;
  Plan plan;
  plan.notes = timeLimitNotes(SearchEnd::TimeLimit, options);
  plan.notes.push_back("its share of the time limit of 60 s was over before all references were costed: dp is missing");
  const std::vector<std::string> ofSearch = plan.notes;
  plan.notes.push_back("the time limit of 60 s was over before the runner-ups of 4 of 4 ops were looked for: with more "
                       "time (--time-limit) the plan has them");
  plan.notes.push_back("another note");
  CHECK(notesOnSearchTime(plan) == ofSearch);
}

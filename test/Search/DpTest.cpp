// The search `dp` against the oracle, its bounds, and its manners when a budget is hit.
#include "Search/RandomProblems.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

SearchResult run(const Problem &problem, const SearchOptions &options = {}) {
  llvm::Expected<SearchResult> result = searchDp(problem, options);
  if (!result)
    FAIL(takeMessage(result.takeError()).second);
  return *result;
}

bool passes(const Problem &problem, const SearchResult &result) {
  llvm::Error error = verify(problem, result.assignment);
  bool passed = !error;
  llvm::consumeError(std::move(error));
  return passed;
}

} // namespace

TEST_CASE("dp equals exhaustive on 2,000 random problems") {
  size_t numInfeasible = 0, numBinding = 0;
  for (size_t index = 0; index < 2000; ++index) {
    Random random(index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
    SearchResult result = run(problem);
    INFO("problem " << index << ": " << printProblem(problem));
    REQUIRE(searchStatusName(result.status).str() == searchStatusName(oracle.status).str());
    if (oracle.status == SearchStatus::Infeasible) {
      ++numInfeasible;
      CHECK_FALSE(result.reason.empty());
      continue;
    }
    REQUIRE(passes(problem, result));
    CHECK(result.seconds == evaluate(problem, result.assignment).seconds);
    CHECK(result.bytes == evaluate(problem, result.assignment).bytes());
    CHECK(result.lowerBoundSeconds == result.seconds);
    REQUIRE(result.seconds == Approx(oracle.seconds).epsilon(1e-9).margin(1e-12));
    CHECK(trivialLowerBound(problem) <= oracle.seconds * (1 + 1e-12));
    Problem unlimited = problem;
    unlimited.memoryLimitBytes.reset();
    numBinding += problem.memoryLimitBytes && run(unlimited).bytes > *problem.memoryLimitBytes;
  }
  // The generator reaches what it is for.
  CHECK(numInfeasible > 50);
  CHECK(numBinding > 200);
}

// The search `recursive`: its distance from the optimum.
#include "Search/RandomProblems.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;
using Catch::Contains;

TEST_CASE("recursive is near the optimum on 2,000 random problems") {
  size_t numAnswers = 0, numMissed = 0;
  double sumOfGaps = 0;
  for (size_t index = 0; index < 2000; ++index) {
    Random random(index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
    llvm::Expected<SearchResult> result = searchRecursive(problem, {});
    INFO("problem " << index << ": " << printProblem(problem));
    if (!result) {
      CHECK(takeMessage(result.takeError()).first == Fault::NoPlan);
      numMissed += oracle.status == SearchStatus::Optimal;
      continue;
    }
    REQUIRE((result->status == SearchStatus::Infeasible) == (oracle.status == SearchStatus::Infeasible));
    if (oracle.status == SearchStatus::Infeasible)
      continue;
    ++numAnswers;
    double gap = oracle.seconds > 0 ? result->seconds / oracle.seconds - 1 : 0;
    CHECK(result->lowerBoundSeconds <= oracle.seconds * (1 + 1e-9));
    sumOfGaps += gap;
  }

  CHECK(sumOfGaps <= 0.03 * static_cast<double>(numAnswers));
  CHECK(numMissed <= 2);
}

TEST_CASE("recursive is near the optimum on long chains of few tables, which it folds, with a valid bound") {
  for (size_t numDistinct : {1, 3, 7})
    for (bool residual : {false, true}) {
      Random random(40 + numDistinct);
      Problem problem = randomChain(600, 6, residual, numDistinct, random);
      INFO(numDistinct << " tables" << (residual ? ", residual" : ""));
      SearchResult exact = llvm::cantFail(searchDp(problem, {}));
      SearchResult result = llvm::cantFail(searchRecursive(problem, {}));
      REQUIRE(exact.status == SearchStatus::Optimal);
      CHECK(result.seconds >= exact.seconds * (1 - 1e-12));
      CHECK(result.seconds <= (residual ? 1.25 : 1.05) * exact.seconds);
      CHECK(result.lowerBoundSeconds <= exact.seconds * (1 + 1e-12));
      if (!residual) // a chain is a tree: TRW-S is exact
        CHECK(result.lowerBoundSeconds >= exact.seconds * (1 - 1e-9));
    }
}

TEST_CASE("threads change no answer where strategies use axes and the limit of memory binds") {
  size_t numBinding = 0;
  for (size_t seed = 0; seed < 30; ++seed) {
    Random random(9100 + seed);
    Problem problem = randomChain(60, 8, seed % 2, 3, random);
    for (NodeTable &table : problem.nodeTables)
      for (uint32_t strategy = 0; strategy < table.costs.size(); ++strategy)
        table.axes.push_back({strategy % 2, strategy / 2 % 2, strategy / 4});
    SearchResult free = llvm::cantFail(searchRecursive(problem, {}));
    problem.memoryLimitBytes = free.bytes * 9 / 10;
    llvm::Expected<SearchResult> one = searchRecursive(problem, {.numThreads = 1});
    llvm::Expected<SearchResult> two = searchRecursive(problem, {.numThreads = 2});
    REQUIRE(!one == !two);
    if (!one) {
      llvm::consumeError(one.takeError());
      llvm::consumeError(two.takeError());
      continue;
    }
    CHECK(two->assignment == one->assignment);
    CHECK(two->lowerBoundSeconds == one->lowerBoundSeconds);
    numBinding += one->hasAnswer() && one->seconds > free.seconds;
  }
  CHECK(numBinding > 10);
}

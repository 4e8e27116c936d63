// The search `ilp` as a certificate: it agrees with `exhaustive` and `dp`, and keeps its limits.
#include "../Sanitized.h"
#include "Search/RandomProblems.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

using namespace apc;
using namespace apc::test;
using Catch::Contains;

namespace {

/// 60 nodes of 12 strategies, each with edges to about a third of the others: minutes of work for the solver. The
/// linear program of 80,000 columns alone takes tens of seconds.
Problem denseProblem() {
  Random random(3);
  Problem problem = randomChain(60, 12, /*residual=*/true, 60, random);
  for (size_t from = 0; from < 60; ++from)
    for (size_t to = from + 3; to < 60; ++to)
      if (random.chance(0.3))
        problem.addEdge(NodeId(from), NodeId(to), problem.edges[random.below(59)].table);
  return problem;
}

double secondsOf(const std::function<void()> &work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace

TEST_CASE("ilp equals dp and exhaustive on 2,000 random problems") {
  for (size_t index = 0; index < (isSanitized ? 500 : 2000); ++index) {
    Random random(index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    INFO("problem " << index << ": " << printProblem(problem));
    SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
    SearchResult exact = llvm::cantFail(searchDp(problem, {}));
    SearchResult result = llvm::cantFail(searchIlp(problem, {}));
    REQUIRE(result.status == oracle.status);
    REQUIRE(exact.status == oracle.status);
    CHECK(result.seconds == Approx(oracle.seconds).epsilon(1e-6).margin(1e-9));
    CHECK(exact.seconds == Approx(oracle.seconds).epsilon(1e-9).margin(1e-12));
  }
}

TEST_CASE("ilp certifies dp where exhaustive cannot follow") {
  for (size_t index = 0; index < 6; ++index) {
    Random random(400 + index);
    Problem problem = randomChain(24, 4, /*residual=*/index % 2 == 1, 24, random);
    if (index >= 2)
      problem.memoryLimitBytes = llvm::cantFail(searchDp(problem, {})).bytes * 3 / 4;
    SearchResult exact = llvm::cantFail(searchDp(problem, {}));
    SearchResult result = llvm::cantFail(searchIlp(problem, {}));
    REQUIRE(exact.status == SearchStatus::Optimal);
    CHECK(result.status == SearchStatus::Optimal);
    CHECK(result.seconds == Approx(exact.seconds).epsilon(1e-6));
  }
}

TEST_CASE("ilp refuses too large problems and keeps its time limit") {
  Random random(5);
  Problem large = randomChain(1000, 64, /*residual=*/true, 7, random);
  for (NodeTable &table : large.nodeTables)
    for (StrategyCost &cost : table.costs)
      cost.seconds = 1;
  llvm::Expected<SearchResult> refused = searchIlp(large, {});
  auto [fault, message] = takeMessage(refused.takeError());
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Contains("pairs of strategies") && Contains("'dp'"));

  Problem problem = randomChain(60, 12, /*residual=*/true, 60, random);
  double optimum = llvm::cantFail(searchDp(problem, {})).seconds;
  SearchResult hasty = llvm::cantFail(searchIlp(problem, {.timeLimitSeconds = 0.01}));
  CHECK(hasty.seconds >= optimum * (1 - 1e-9));
  CHECK(hasty.lowerBoundSeconds <= optimum * (1 + 1e-9));
}

TEST_CASE("the time limit and a stop end ilp in the middle of a linear program") {
  Problem problem = denseProblem();
  SearchResult hasty, stopped;
  CHECK(secondsOf([&] { hasty = llvm::cantFail(searchIlp(problem, {.timeLimitSeconds = 1})); }) < 10);
  std::atomic<bool> stop = false;
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    stop = true;
  });
  CHECK(secondsOf([&] { stopped = llvm::cantFail(searchIlp(problem, {.stop = &stop})); }) < 10);
  user.join();
  for (const SearchResult &result : {hasty, stopped}) {
    CHECK(result.status == SearchStatus::Feasible);
    CHECK(result.lowerBoundSeconds <= result.seconds);
    CHECK_FALSE(llvm::errorToBool(verify(problem, result.assignment)));
  }
}

TEST_CASE("searches that share a clock see what ilp and exhaustive have taken") {
  Random random(403);
  Problem problem = randomChain(24, 4, /*residual=*/true, 24, random), small = randomChain(8, 4, false, 8, random);
  problem.memoryLimitBytes = llvm::cantFail(searchDp(problem, {})).bytes * 3 / 4;
  REQUIRE(llvm::cantFail(searchRecursive(problem, {})).status == SearchStatus::Feasible); // the solver has to go on
  auto secondsOnClock = [](auto search, const Problem &own) {
    SearchOptions options;
    options.clock = std::make_shared<WorkClock>(3600);
    CHECK(llvm::cantFail(search(own, options)).hasAnswer());
    return options.clock->seconds();
  };
  CHECK(secondsOnClock(searchIlp, problem) > secondsOnClock(searchRecursive, problem));
  CHECK(secondsOnClock(searchExhaustive, small) > 0);
}

// The search `auto`: its phases, its progress, and its end.
#include "Search/RandomProblems.h"

#include "apc/Search/Phases.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

SearchResult firstPhase(const Problem &problem) { return llvm::cantFail(searchRecursive(problem, {})); }

/// Residual chain of distinct tables, so that `recursive` does not end with a proof.
Problem hardChain(size_t numNodes, size_t numStrategies) {
  Random random(11);
  return randomChain(numNodes, numStrategies, /*residual=*/true, /*numDistinct=*/numNodes, random);
}

} // namespace

TEST_CASE("auto is never slower than recursive and dp, and its bound is never lower than theirs") {
  for (size_t index = 0; index < 300; ++index) {
    Random random(900 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    INFO("problem " << index << ": " << printProblem(problem));
    SearchResult answer = llvm::cantFail(searchAuto(problem, {}));
    llvm::Expected<SearchResult> recursive = searchRecursive(problem, {});
    SearchResult exact = llvm::cantFail(searchDp(problem, {}));
    REQUIRE(answer.status == exact.status);
    CHECK(answer.seconds <= exact.seconds * (1 + 1e-12));
    CHECK(answer.lowerBoundSeconds >= exact.lowerBoundSeconds * (1 - 1e-12));
    if (recursive)
      CHECK(answer.lowerBoundSeconds >= recursive->lowerBoundSeconds * (1 - 1e-12));
    else
      llvm::consumeError(recursive.takeError());
  }
}

TEST_CASE("auto reports each phase, with bounds that rise and answers that fall") {
  Problem problem = hardChain(60, 6);
  std::vector<SearchProgress> reports;
  std::vector<std::string> phases;
  SearchOptions options;
  options.progress = [&](const SearchProgress &progress) {
    reports.push_back(progress);
    phases.push_back(progress.phase.str());
  };
  SearchResult answer = llvm::cantFail(searchAuto(problem, options));
  REQUIRE(answer.status == SearchStatus::Optimal);
  CHECK(phases == std::vector<std::string>{"recursive", "dp"});
  for (size_t index = 1; index < reports.size(); ++index) {
    CHECK(reports[index].seconds <= reports[index - 1].seconds);
    CHECK(reports[index].lowerBoundSeconds >= reports[index - 1].lowerBoundSeconds);
    CHECK(reports[index].elapsedSeconds >= reports[index - 1].elapsedSeconds);
  }
  CHECK(reports.back().seconds == answer.seconds);
  CHECK(reports.back().gap == 0);
}

TEST_CASE("auto ends after dp when that reaches the gap") {
  Problem problem = hardChain(60, 6);
  SearchResult first = firstPhase(problem);
  REQUIRE(first.gap() > 0);
  std::vector<std::string> phases;
  SearchOptions options;
  options.progress = [&](const SearchProgress &progress) { phases.push_back(progress.phase.str()); };
  options.gapTolerance = first.gap() * 1.01;
  SearchResult answer = llvm::cantFail(searchAuto(problem, options));
  CHECK(phases == std::vector<std::string>{"recursive", "dp"});
  CHECK(answer.status == SearchStatus::Optimal);
}

TEST_CASE("auto returns its best answer when it is told to stop") {
  Problem problem = hardChain(60, 6);
  std::atomic<bool> stop = false;
  SearchOptions options;
  options.stop = &stop;
  std::vector<std::string> phases;
  options.progress = [&](const SearchProgress &progress) {
    phases.push_back(progress.phase.str());
    stop = true;
  };
  SearchResult answer = llvm::cantFail(searchAuto(problem, options));
  CHECK(phases == std::vector<std::string>{"recursive"});
  CHECK(answer.status == SearchStatus::Feasible);
  CHECK(answer.gap() > 0);
  CHECK(takeMessage(verify(problem, answer.assignment)).second == "");
}

TEST_CASE("auto finds an answer within a memory limit that binds even when it is told to stop at once") {
  Problem problem = hardChain(60, 6);
  SearchResult fastest = llvm::cantFail(searchDp(problem, {}));
  int64_t least = 0;
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    const std::vector<StrategyCost> &costs = problem.tableOf(NodeId(node)).costs;
    least += std::min_element(costs.begin(), costs.end(), [](const StrategyCost &a, const StrategyCost &b) {
               return a.persistentBytes < b.persistentBytes;
             })->persistentBytes;
  }
  problem.memoryLimitBytes = least + (fastest.bytes - least) / 2;
  std::atomic<bool> stop = true;
  SearchOptions options;
  options.stop = &stop;
  SearchResult answer = llvm::cantFail(searchAuto(problem, options));
  CHECK(answer.status == SearchStatus::Feasible);
  CHECK(takeMessage(verify(problem, answer.assignment)).second == "");
}

TEST_CASE("the second phase finds the optimum below a cutoff and proves that there is none above") {
  size_t numBeaten = 0, numKept = 0;
  for (size_t index = 0; index < 300; ++index) {
    Random random(4000 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    INFO("problem " << index << ": " << printProblem(problem));
    SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
    if (oracle.status == SearchStatus::Infeasible || oracle.seconds == 0)
      continue;
    SharedWork shared;
    auto continueAuto = secondPhaseOf(llvm::cantFail(findSearch("auto")))->run;
    double above = oracle.seconds * 1.25, below = oracle.seconds * 0.75;
    SearchResult found = llvm::cantFail(continueAuto(problem, {}, shared, {}, above));
    REQUIRE(found.status == SearchStatus::Optimal);
    CHECK(found.seconds == Approx(oracle.seconds).epsilon(1e-9));
    ++numKept;
    SearchResult none = llvm::cantFail(continueAuto(problem, {}, shared, {}, below));
    CHECK(none.lowerBoundSeconds <= oracle.seconds * (1 + 1e-9));
    CHECK(none.lowerBoundSeconds >= below * (1 - 1e-9));
    numBeaten += none.status == SearchStatus::CutOff;
  }
  CHECK(numKept > 150);
  CHECK(numBeaten > 50);
}

TEST_CASE("a raised bound holds, and the second phase goes on from there to the optimum") {
  unsigned numRaised = 0, numOptimal = 0;
  for (size_t index = 0; index < 300; ++index) {
    Random random(5000 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    INFO("problem " << index << ": " << printProblem(problem));
    SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
    SharedWork shared;
    InitialAnswer first = llvm::cantFail(searchFirst(problem, {}, shared));
    if (!oracle.hasAnswer() || !first.result || !first.result->hasAnswer())
      continue;
    SecondPhase phase = *secondPhaseOf(llvm::cantFail(findSearch("auto")));
    SearchResult raised = llvm::cantFail(phase.raise(problem, {}, shared, first, std::nullopt));
    REQUIRE(raised.hasAnswer());
    CHECK(raised.lowerBoundSeconds <= oracle.seconds * (1 + 1e-9));
    CHECK(raised.lowerBoundSeconds >= first.result->lowerBoundSeconds * (1 - 1e-9));
    numRaised += raised.lowerBoundSeconds > first.result->lowerBoundSeconds * (1 + 1e-9);
    shared.endRaise();
    SearchResult end = llvm::cantFail(phase.run(problem, {}, shared, {raised, first.secondsPerByte}, std::nullopt));
    CHECK(end.seconds == Approx(oracle.seconds).epsilon(1e-9));
    numOptimal += end.status == SearchStatus::Optimal;
  }
  CHECK(numRaised > 30);
  CHECK(numOptimal > 150);
}

TEST_CASE("the bound for any memory is below every assignment, and reaches the fastest where the limit does not bind") {
  unsigned numBinding = 0, numReached = 0;
  for (size_t index = 0; index < 400; ++index) {
    Random random(6000 + index);
    Problem problem = randomProblem(recipeOf(index, random), random), free = problem;
    free.memoryLimitBytes.reset();
    INFO("problem " << index << ": " << printProblem(problem));
    SearchResult limited = llvm::cantFail(searchExhaustive(problem, {}));
    SearchResult fastest = llvm::cantFail(searchExhaustive(free, {}));
    SearchResult found = llvm::cantFail(searchAuto(problem, {}));
    if (fastest.hasAnswer())
      CHECK(found.unlimitedBoundSeconds <= fastest.seconds * (1 + 1e-9));
    if (!limited.hasAnswer() || !problem.memoryLimitBytes)
      continue;
    bool binds = limited.seconds > fastest.seconds * (1 + 1e-9);
    numBinding += binds;
    numReached += !binds && found.unlimitedBoundSeconds >= fastest.seconds * (1 - 1e-9);
  }
  CHECK(numBinding > 50);
  CHECK(numReached > 30);
}

TEST_CASE("auto and recursive have a second phase") {
  for (const Search &search : allSearches())
    CHECK(secondPhaseOf(search).has_value() == (search.name == "auto" || search.name == "recursive"));
}

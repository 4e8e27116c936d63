// Properties of every search in the table, on small problems.
#include "../Sanitized.h"
#include "Search/RandomProblems.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;
using Catch::Contains;

namespace {

/// The result as text, or the message of the error, which must be of fault NoPlan.
std::string outcome(const Search &search, const Problem &problem, const SearchOptions &options) {
  llvm::Expected<SearchResult> result = search.run(problem, options);
  if (result)
    return printResult(problem, *result, 0);
  auto [fault, message] = takeMessage(result.takeError());
  CHECK(fault == Fault::NoPlan);
  return message;
}

void checkAnswer(const Problem &problem, const SearchResult &result, const SearchResult &oracle) {
  if (result.status == SearchStatus::Infeasible) {
    CHECK(oracle.status == SearchStatus::Infeasible);
    CHECK(result.assignment.strategies.empty());
    CHECK_FALSE(result.reason.empty());
    return;
  }
  REQUIRE(oracle.status == SearchStatus::Optimal);
  CHECK(takeMessage(verify(problem, result.assignment)).second == "");
  CHECK(result.seconds == evaluate(problem, result.assignment).seconds);
  CHECK(result.bytes == evaluate(problem, result.assignment).bytes());
  CHECK(result.seconds >= oracle.seconds - 1e-9 * oracle.seconds);
  CHECK(result.lowerBoundSeconds <= oracle.seconds + 1e-9 * oracle.seconds);
  if (result.status == SearchStatus::Optimal) {
    CHECK(result.lowerBoundSeconds == result.seconds);
    CHECK(result.gap() == 0);
  }
}

} // namespace

TEST_CASE("every search gives valid, reproducible answers and valid bounds") {
  for (const Search &search : allSearches())
    for (size_t index = 0; index < (isSanitized ? 100 : 400); ++index) {
      Random random(5000 + index);
      Problem problem = randomProblem(recipeOf(index, random), random);
      INFO(search.name.str() << " on problem " << index << ": " << printProblem(problem));
      SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
      llvm::Expected<SearchResult> result = search.run(problem, {});
      if (result)
        checkAnswer(problem, *result, oracle);
      else
        CHECK(takeMessage(result.takeError()).first == Fault::NoPlan);
      std::string once = outcome(search, problem, {.numThreads = 1});
      CHECK(outcome(search, problem, {.numThreads = 1}) == once);
      CHECK(outcome(search, problem, {.numThreads = 2}) == once);
    }
}

TEST_CASE("every search refuses a problem that does not pass check, and takes an empty one") {
  Problem bad;
  bad.addNode("a", NodeTableId(0));
  for (const Search &search : allSearches()) {
    INFO(search.name.str());
    auto [fault, message] = takeMessage(search.run(bad, {}).takeError());
    CHECK(fault == Fault::Input);
    CHECK_THAT(message, Contains("node 'a' refers to node table 0"));
    Problem empty;
    empty.memoryLimitBytes = 0;
    SearchResult result = llvm::cantFail(search.run(empty, {}));
    CHECK(result.status == SearchStatus::Optimal);
    CHECK(result.seconds == 0);
  }
}

TEST_CASE("searches are found by name, and an unknown name lists them") {
  CHECK(llvm::cantFail(findSearch("dp")).run == searchDp);
  CHECK(llvm::cantFail(findSearch("exhaustive")).run == searchExhaustive);
  std::string message = takeMessage(findSearch("fastest").takeError()).second;
  CHECK(llvm::StringRef(message).starts_with("there is no search 'fastest'; there are: auto, dp, recursive, "));
  for (const Search &search : allSearches()) {
    CHECK_FALSE(search.summary.empty());
    CHECK_THAT(message, Catch::Contains(search.name.str()));
  }
}

TEST_CASE("a result is unknown at first, and only optimal and feasible results have an answer") {
  CHECK(searchStatusName(SearchResult().status) == "unknown");
  for (SearchStatus status : {SearchStatus::Unknown, SearchStatus::Optimal, SearchStatus::Feasible,
                              SearchStatus::Infeasible, SearchStatus::CutOff}) {
    SearchResult result;
    result.status = status;
    llvm::StringRef name = searchStatusName(status);
    CHECK(result.hasAnswer() == (name == "optimal" || name == "feasible"));
  }
}

TEST_CASE("a gap is relative to the answer") {
  SearchResult result;
  CHECK(result.gap() == 0);
  result.seconds = 2;
  result.lowerBoundSeconds = 1.5;
  CHECK(result.gap() == 0.25);
  result.lowerBoundSeconds = 2;
  CHECK(result.gap() == 0);
}

TEST_CASE("exhaustive takes the first of equal assignments and refuses large problems") {
  Problem problem;
  NodeTableId table = problem.addNodeTable({{"x", "y", "z"}, {{2, 0, 0}, {1, 0, 0}, {1, 0, 0}}});
  for (size_t node = 0; node < 4; ++node)
    problem.addNode("n" + std::to_string(node), table);
  SearchResult result = llvm::cantFail(searchExhaustive(problem, {}));
  CHECK(result.assignment.strategies == std::vector<uint32_t>{1, 1, 1, 1});
  auto [fault, message] = takeMessage(searchExhaustive(problem, {.maxAssignments = 80}).takeError());
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Contains("more than 80 assignments") && Contains("'dp'"));
}

TEST_CASE("exhaustive says why there is no answer") {
  Problem problem;
  NodeTableId table = problem.addNodeTable({{"x", "y"}, {{1, 5, 1}, {1, 3, 4}}});
  problem.addNode("a", table);
  problem.addNode("b", table);
  problem.memoryLimitBytes = 9;
  CHECK_THAT(llvm::cantFail(searchExhaustive(problem, {})).reason,
             Contains("at least 10 B of memory; the limit is 9 B"));
  PairTable none(2, 2);
  for (size_t cell = 0; cell < 4; ++cell)
    none.set(cell / 2, cell % 2, std::nullopt);
  problem.addEdge(NodeId(0), NodeId(1), problem.addPairTable(none));
  CHECK_THAT(llvm::cantFail(searchExhaustive(problem, {})).reason, Contains("impossible pair"));
}

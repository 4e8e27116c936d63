// Bounds of single strategies, and the part of a problem that they leave.
#include "../../lib/Search/Reduce/Narrowing.h"
#include "../../lib/Search/Bounds/TrwsBound.h"
#include "Search/RandomProblems.h"
#include "Search/ReducedProblems.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;
using namespace apc::test;

namespace {

/// The least seconds within the memory limit, by trying every assignment; a NaN where there is none.
double leastSeconds(const Problem &problem) {
  SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
  return oracle.status == SearchStatus::Infeasible ? std::nan("") : oracle.seconds;
}

/// Leaves a node those strategies alone: the others are made too large for the memory.
void leaveOnly(Problem &problem, size_t node, llvm::ArrayRef<uint32_t> kept) {
  if (!problem.memoryLimitBytes)
    problem.memoryLimitBytes = int64_t(1) << 49;
  NodeTable table = problem.tableOf(NodeId(node));
  for (uint32_t strategy = 0; strategy < table.costs.size(); ++strategy)
    if (!llvm::is_contained(kept, strategy))
      table.costs[strategy].transientBytes = int64_t(1) << 50;
  problem.nodes[node].table = problem.addNodeTable(std::move(table));
}

/// The problem in which one node has one strategy.
Problem fixed(Problem problem, size_t node, uint32_t strategy) {
  leaveOnly(problem, node, strategy);
  return problem;
}

/// Bounds after some passes at one weight of a byte.
LeastWith leastAfterPasses(const Problem &problem, const ReducedProblem &reduced, double secondsPerByte) {
  WeightedProblem weighted(reduced);
  weighted.weigh({.secondsPerByte = secondsPerByte});
  TrwsBound trws(weighted);
  for (unsigned pass = 0; pass < 4; ++pass)
    if (!trws.pass())
      return {};
  double constant = reduced.constantSeconds;
  if (problem.memoryLimitBytes)
    constant -= secondsPerByte * static_cast<double>(*problem.memoryLimitBytes);
  LeastWith result;
  for (size_t node = 0; node < weighted.numNodes(); ++node) {
    result.push_back(trws.leastWith(node).vec());
    for (double &seconds : result.back())
      seconds += constant;
  }
  return result;
}

/// The reduced problem as a problem with fewer strategies.
Problem onlySurvivors(Problem problem, const ReducedProblem &reduced) {
  for (size_t node = 0; node < problem.nodes.size(); ++node)
    leaveOnly(problem, node, reduced.survivors.of(node));
  return problem;
}

/// Eight nodes of twelve strategies, each joined to all others: too wide for exact tables.
Problem clique(Random &random) {
  Problem problem;
  constexpr size_t numNodes = 8, numStrategies = 12;
  for (size_t node = 0; node < numNodes; ++node) {
    NodeTable table;
    for (size_t strategy = 0; strategy < numStrategies; ++strategy) {
      table.names.push_back("s" + std::to_string(strategy));
      table.costs.push_back({static_cast<double>(random.below(1000)), 0, 0});
    }
    problem.addNode("n" + std::to_string(node), problem.addNodeTable(std::move(table)));
  }
  for (size_t to = 1; to < numNodes; ++to)
    for (size_t from = 0; from < to; ++from) {
      PairTable pairs(numStrategies, numStrategies);
      for (size_t row = 0; row < numStrategies; ++row)
        for (size_t column = 0; column < numStrategies; ++column)
          pairs.set(row, column, static_cast<double>(random.below(100)));
      problem.addEdge(NodeId(from), NodeId(to), problem.addPairTable(std::move(pairs)));
    }
  return problem;
}

} // namespace

TEST_CASE("no answer with a strategy takes less than its bound says") {
  size_t numCompared = 0, numAboveAll = 0;
  for (size_t index = 0; index < 120; ++index) {
    Random random(7100 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    INFO("problem " << index << ": " << printProblem(problem));
    double optimum = leastSeconds(problem);
    if (std::isnan(optimum))
      continue;
    ReducedProblem reduced = reducedProblemOf(problem, Dominance::SecondsAndBytes);
    for (double secondsPerByte : {0.0, 0.1}) {
      LeastWith least = leastAfterPasses(problem, reduced, problem.memoryLimitBytes ? secondsPerByte : 0);
      REQUIRE(least.size() == problem.nodes.size());
      for (size_t node = 0; node < least.size(); ++node)
        for (auto [position, strategy] : llvm::enumerate(reduced.survivors.of(node))) {
          double bound = least[node][position], seconds = leastSeconds(fixed(problem, node, strategy));
          if (std::isnan(seconds) || std::isnan(bound))
            continue;
          CHECK(bound <= seconds + rounding * (1 + seconds));
          ++numCompared;
          numAboveAll += bound > optimum * (1 + rounding);
        }
    }
  }
  CHECK(numCompared > 1000);
  CHECK(numAboveAll > 200);
}

TEST_CASE("a narrowed problem keeps all answers that are better than the one at hand") {
  size_t numNarrower = 0, numProven = 0;
  for (size_t index = 0; index < 300; ++index) {
    Random random(7700 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    INFO("problem " << index << ": " << printProblem(problem));
    double optimum = leastSeconds(problem);
    if (std::isnan(optimum) || optimum == 0)
      continue;
    ReducedProblem reduced = reducedProblemOf(problem, Dominance::SecondsAndBytes);
    LeastWith least = leastAfterPasses(problem, reduced, 0);
    std::variant<ReducedProblem, Impossible> above = narrow(problem, reduced, least, optimum * 1.05);
    REQUIRE(std::holds_alternative<ReducedProblem>(above));
    const ReducedProblem &left = std::get<ReducedProblem>(above);
    CHECK(leastSeconds(onlySurvivors(problem, left)) == Approx(optimum).epsilon(rounding));
    numNarrower += numPairs(left) < numPairs(reduced);
    std::variant<ReducedProblem, Impossible> below = narrow(problem, reduced, least, optimum * 0.99);
    if (std::holds_alternative<Impossible>(below)) {
      ++numProven;
      continue;
    }
    double rest = leastSeconds(onlySurvivors(problem, std::get<ReducedProblem>(below)));
    CHECK((std::isnan(rest) || rest >= optimum * (1 - rounding)));
  }
  CHECK(numNarrower > 100);
  CHECK(numProven > 50);
}

TEST_CASE("auto proves the optimum of a problem that is too wide for dp") {
  for (size_t seed = 0; seed < 3; ++seed) {
    Random random(90 + seed);
    Problem problem = clique(random);
    SearchOptions options;
    options.gapTolerance = 0;
    SearchResult wide = llvm::cantFail(searchDp(problem, options));
    REQUIRE(wide.status == SearchStatus::Feasible);
    SearchResult answer = llvm::cantFail(searchAuto(problem, options));
    CHECK(answer.status == SearchStatus::Optimal);
    SearchResult oracle = llvm::cantFail(searchIlp(problem, options));
    REQUIRE(oracle.status == SearchStatus::Optimal);
    CHECK(answer.seconds == Approx(oracle.seconds).epsilon(rounding));
  }
}

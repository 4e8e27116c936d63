// TRW-S by itself: a bound after every pass and under every weight of a byte, exact on trees, never above the optimum.
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

/// The minimum of seconds plus a weight for each persistent byte, without a limit, by trying every assignment.
double leastWeighted(Problem problem, double secondsPerByte) {
  problem.memoryLimitBytes.reset();
  for (NodeTable &table : problem.nodeTables)
    for (StrategyCost &cost : table.costs)
      cost.seconds += secondsPerByte * static_cast<double>(cost.persistentBytes);
  SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
  return oracle.status == SearchStatus::Infeasible ? std::nan("") : oracle.seconds;
}

double weightedSum(const Problem &problem, const Assignment &assignment, double secondsPerByte) {
  Evaluation cost = evaluate(problem, assignment);
  return cost.seconds + secondsPerByte * static_cast<double>(cost.persistentBytes);
}

} // namespace

TEST_CASE("no pass is above the optimum or below the pass before, while weights change") {
  size_t numBounds = 0, numTight = 0;
  for (size_t index = 0; index < 400; ++index) {
    Random random(5000 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    INFO("problem " << index << ": " << printProblem(problem));
    std::variant<ReducedProblem, Impossible> outcome = reduceProblem(problem, Dominance::SecondsAndBytes);
    if (!std::holds_alternative<ReducedProblem>(outcome))
      continue;
    const ReducedProblem &reduced = std::get<ReducedProblem>(outcome);
    WeightedProblem weighted(reduced);
    TrwsBound trws(weighted);
    for (double secondsPerByte : {0.0, 0.5, 0.02}) {
      double optimum = leastWeighted(problem, secondsPerByte), before = 0;
      weighted.weigh({.secondsPerByte = secondsPerByte});
      for (unsigned pass = 0; pass < 6; ++pass) {
        std::optional<double> sum = trws.pass();
        if (!sum) {
          CHECK(std::isnan(optimum));
          break;
        }
        if (std::isnan(optimum))
          break;
        double bound = *sum + reduced.constantSeconds;
        CHECK(bound <= optimum + rounding * (1 + optimum));
        if (pass > 0)
          CHECK(bound >= before - rounding * (1 + before));
        before = bound;
        ++numBounds;
      }
      numTight += before >= optimum * (1 - 1e-6);
    }
  }
  CHECK(numBounds > 3000);
  CHECK(numTight > 600);
}

TEST_CASE("a pass proves that no strategy is within the transient bytes") {
  Random random(8);
  Problem problem = randomChain(6, 3, true, 6, random);
  ReducedProblem reduced = reducedProblemOf(problem, Dominance::SecondsAndBytes);
  WeightedProblem weighted(reduced);
  TrwsBound trws(weighted);
  CHECK(trws.pass());
  weighted.weigh({.maxTransientBytes = -1});
  CHECK_FALSE(trws.pass());
}

TEST_CASE("on a chain one pass is exact and decodes to an optimum, again after the weights have changed") {
  for (size_t seed = 0; seed < 40; ++seed) {
    Random random(60 + seed);
    Problem problem = randomChain(8, 4, false, 8, random);
    ReducedProblem reduced = reducedProblemOf(problem, Dominance::SecondsAndBytes);
    WeightedProblem weighted(reduced);
    TrwsBound trws(weighted);
    for (double secondsPerByte : {0.0, 1.0}) {
      weighted.weigh({.secondsPerByte = secondsPerByte});
      trws.pass();
      std::optional<double> sum = trws.pass();
      REQUIRE(sum);
      double optimum = leastWeighted(problem, secondsPerByte);
      CHECK(*sum + reduced.constantSeconds == Approx(optimum).epsilon(rounding));
      CHECK(weightedSum(problem, reduced.expand(trws.decode()), secondsPerByte) == Approx(optimum).epsilon(rounding));
    }
  }
}

// Message passing by itself: a bound at every pass and under every price of a byte, exact on trees, never above the
// optimum.
#include "../../lib/Search/Bounds/TrwsBound.h"
#include "Search/RandomProblems.h"
#include "Search/Reductions.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;
using namespace apc::test;

namespace {

constexpr double rounding = 1e-9;

/// Without a limit: the least of seconds plus a price for each persistent byte, by trying everything.
double leastWeighted(Problem problem, double bytesWeight) {
  problem.memoryLimitBytes.reset();
  for (NodeTable &table : problem.nodeTables)
    for (StrategyCost &cost : table.costs)
      cost.seconds += bytesWeight * static_cast<double>(cost.persistentBytes);
  SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
  return oracle.status == SearchStatus::Infeasible ? std::nan("") : oracle.seconds;
}

double weighted(const Problem &problem, const Assignment &assignment, double bytesWeight) {
  Evaluation cost = evaluate(problem, assignment);
  return cost.seconds + bytesWeight * static_cast<double>(cost.persistentBytes);
}

} // namespace

TEST_CASE("no pass is above the optimum or below the pass before, under weights that change on the way") {
  size_t numBounds = 0, numTight = 0;
  for (size_t index = 0; index < 400; ++index) {
    Random random(5000 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    INFO("problem " << index << ": " << printProblem(problem));
    std::variant<dp::Reduction, dp::Impossible> reduced = dp::reduce(problem, dp::Dominance::SecondsAndBytes);
    if (!std::holds_alternative<dp::Reduction>(reduced))
      continue;
    const dp::Reduction &reduction = std::get<dp::Reduction>(reduced);
    Landscape landscape(reduction);
    MessagePassing messages(landscape);
    for (double bytesWeight : {0.0, 0.5, 0.02}) {
      double optimum = leastWeighted(problem, bytesWeight), before = 0;
      landscape.weigh({.bytesWeight = bytesWeight});
      for (unsigned pass = 0; pass < 6; ++pass) {
        std::optional<double> sum = messages.pass();
        if (!sum) {
          CHECK(std::isnan(optimum));
          break;
        }
        if (std::isnan(optimum))
          break;
        double bound = *sum + reduction.constantSeconds;
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

TEST_CASE("messages say so when no node has a strategy left within the transient bytes") {
  Random random(8);
  Problem problem = randomChain(6, 3, true, 6, random);
  dp::Reduction reduction = reductionOf(problem, dp::Dominance::SecondsAndBytes);
  Landscape landscape(reduction);
  MessagePassing messages(landscape);
  CHECK(messages.pass());
  landscape.weigh({.maxTransientBytes = -1});
  CHECK_FALSE(messages.pass());
}

TEST_CASE("on a chain one pass is exact and decodes to an optimum, again after the weights have changed") {
  for (size_t seed = 0; seed < 40; ++seed) {
    Random random(60 + seed);
    Problem problem = randomChain(8, 4, false, 8, random);
    dp::Reduction reduction = reductionOf(problem, dp::Dominance::SecondsAndBytes);
    Landscape landscape(reduction);
    MessagePassing messages(landscape);
    for (double bytesWeight : {0.0, 1.0}) {
      landscape.weigh({.bytesWeight = bytesWeight});
      messages.pass();
      std::optional<double> sum = messages.pass();
      REQUIRE(sum);
      double optimum = leastWeighted(problem, bytesWeight);
      CHECK(*sum + reduction.constantSeconds == Approx(optimum).epsilon(rounding));
      CHECK(weighted(problem, reduction.expand(messages.decode()), bytesWeight) == Approx(optimum).epsilon(rounding));
    }
  }
}

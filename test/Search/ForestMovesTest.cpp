// Moves of forests: the optimum of a tree at once, never worse elsewhere, and better than moves of two nodes.
#include "../../lib/Search/Local/ForestMoves.h"
#include "../../lib/Search/Local/Repair.h"
#include "Search/RandomProblems.h"
#include "Search/ReducedProblems.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

const Deadline noDeadline(1e9);

std::vector<uint32_t> anyChoices(const WeightedProblem &weighted, Random &random) {
  std::vector<uint32_t> chosen;
  for (size_t node = 0; node < weighted.numNodes(); ++node)
    chosen.push_back(random.below(weighted.numStrategies(node)));
  return chosen;
}

/// Four nodes in a row. All want strategy 1, 1 s each, but a pair that disagrees costs 5 s.
Problem rowOfFour() {
  Problem problem;
  NodeTableId node = problem.addNodeTable({{"old", "new"}, {{2, 0, 0}, {1, 0, 0}}});
  PairTable table(2, 2);
  table.set(0, 1, 5);
  table.set(1, 0, 5);
  PairTableId pair = problem.addPairTable(std::move(table));
  for (const char *name : {"a", "b", "c", "d"})
    problem.addNode(name, node);
  for (uint32_t i = 0; i < 3; ++i)
    problem.addEdge(NodeId(i), NodeId(i + 1), pair);
  return problem;
}

} // namespace

TEST_CASE("a tree is solved to its optimum from any start") {
  for (size_t seed = 0; seed < 60; ++seed) {
    Random random(300 + seed);
    Problem problem = randomProblem({seed % 2 ? Shape::Chain : Shape::Tree, 7, 4}, random);
    INFO("problem " << seed << ": " << printProblem(problem));
    SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
    ReducedProblem reduced = reducedProblemOf(problem, Dominance::SecondsAndBytes);
    WeightedProblem weighted(reduced);
    std::vector<uint32_t> chosen = anyChoices(weighted, random);
    moveForests(weighted, noDeadline, chosen);
    CHECK(evaluate(problem, reduced.expand(chosen)).seconds == Approx(oracle.seconds).epsilon(1e-12));
    CHECK_FALSE(moveForests(weighted, noDeadline, chosen));
  }
}

TEST_CASE(
    "a move of forests is never worse than its start, and never trades a possible assignment for an impossible one") {
  size_t numBetter = 0, numRescued = 0;
  for (size_t index = 0; index < 400; ++index) {
    Random random(8000 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    problem.memoryLimitBytes.reset();
    INFO("problem " << index << ": " << printProblem(problem));
    std::variant<ReducedProblem, Impossible> outcome = reduceProblem(problem, Dominance::Seconds);
    if (!std::holds_alternative<ReducedProblem>(outcome))
      continue;
    const ReducedProblem &reduced = std::get<ReducedProblem>(outcome);
    WeightedProblem weighted(reduced);
    std::vector<uint32_t> chosen = anyChoices(weighted, random);
    Assignment before = reduced.expand(chosen);
    bool changed = moveForests(weighted, noDeadline, chosen);
    Assignment after = reduced.expand(chosen);
    CHECK(changed == !(before == after));
    bool wasPossible = takeMessage(verify(problem, before)).second.empty();
    bool isPossible = takeMessage(verify(problem, after)).second.empty();
    CHECK((isPossible || !wasPossible));
    numRescued += isPossible && !wasPossible;
    if (!wasPossible || !changed)
      continue;
    CHECK(evaluate(problem, after).seconds < evaluate(problem, before).seconds);
    ++numBetter;
  }
  CHECK(numBetter > 100);
  CHECK(numRescued > 10);
}

TEST_CASE("where no two nodes gain by moving, four do") {
  Problem problem = rowOfFour();
  ReducedProblem reduced = reducedProblemOf(problem, Dominance::Seconds);
  WeightedProblem weighted(reduced);
  std::vector<uint32_t> chosen(4, 0);
  repair(weighted, std::nullopt, noDeadline, chosen);
  CHECK(chosen == std::vector<uint32_t>{0, 0, 0, 0});
  CHECK(moveForests(weighted, noDeadline, chosen));
  CHECK(chosen == std::vector<uint32_t>{1, 1, 1, 1});
}

TEST_CASE("after a move of forests only changed nodes and their neighbours need repair") {
  size_t numRepaired = 0;
  for (size_t index = 0; index < 400; ++index) {
    Random random(9000 + index);
    Recipe recipe = recipeOf(index, random);
    recipe.numNodes = 14;
    Problem problem = randomProblem(recipe, random);
    problem.memoryLimitBytes.reset();
    INFO("problem " << index << ": " << printProblem(problem));
    std::variant<ReducedProblem, Impossible> outcome = reduceProblem(problem, Dominance::Seconds);
    if (!std::holds_alternative<ReducedProblem>(outcome))
      continue;
    WeightedProblem weighted(std::get<ReducedProblem>(outcome));
    std::vector<uint32_t> repaired = anyChoices(weighted, random);
    repair(weighted, std::nullopt, noDeadline, repaired);
    std::vector<uint32_t> moved = anyChoices(weighted, random);
    for (size_t node = 0; node < moved.size(); ++node) // here and there
      if (random.chance(0.7))
        moved[node] = repaired[node];
    std::vector<uint32_t> nearby = moved;
    repairSince(repaired, weighted, noDeadline, nearby);
    numRepaired += nearby != moved;
    std::vector<uint32_t> everywhere = nearby;
    repair(weighted, std::nullopt, noDeadline, everywhere);
    CHECK(everywhere == nearby);
  }
  CHECK(numRepaired > 100);
}

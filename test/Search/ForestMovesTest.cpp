// Moves of forests: the optimum of a tree at once, never worse elsewhere, and out of places where moves of two nodes
// are stuck.
#include "../../lib/Search/Local/ForestMoves.h"
#include "../../lib/Search/Local/Repair.h"
#include "Search/RandomProblems.h"
#include "Search/Reductions.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

const Deadline noDeadline(1e9);

std::vector<uint32_t> anyChoices(const Landscape &landscape, Random &random) {
  std::vector<uint32_t> chosen;
  for (size_t node = 0; node < landscape.numNodes(); ++node)
    chosen.push_back(random.below(landscape.numStrategies(node)));
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

TEST_CASE("the nodes of a tree are decided together, whatever they were") {
  for (size_t seed = 0; seed < 60; ++seed) {
    Random random(300 + seed);
    Problem problem = randomProblem({seed % 2 ? Shape::Chain : Shape::Tree, 7, 4}, random);
    INFO("problem " << seed << ": " << printProblem(problem));
    SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
    dp::Reduction reduction = reductionOf(problem, dp::Dominance::SecondsAndBytes);
    Landscape landscape(reduction);
    std::vector<uint32_t> chosen = anyChoices(landscape, random);
    moveForests(landscape, noDeadline, chosen);
    CHECK(evaluate(problem, reduction.expand(chosen)).seconds == Approx(oracle.seconds).epsilon(1e-12));
    CHECK_FALSE(moveForests(landscape, noDeadline, chosen));
  }
}

TEST_CASE("a move of forests is never worse than it began and never leaves a possible assignment for an impossible") {
  size_t numBetter = 0, numRescued = 0;
  for (size_t index = 0; index < 400; ++index) {
    Random random(8000 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    problem.memoryLimitBytes.reset();
    INFO("problem " << index << ": " << printProblem(problem));
    std::variant<dp::Reduction, dp::Impossible> reduced = dp::reduce(problem, dp::Dominance::Seconds);
    if (!std::holds_alternative<dp::Reduction>(reduced))
      continue;
    const dp::Reduction &reduction = std::get<dp::Reduction>(reduced);
    Landscape landscape(reduction);
    std::vector<uint32_t> chosen = anyChoices(landscape, random);
    Assignment before = reduction.expand(chosen);
    bool changed = moveForests(landscape, noDeadline, chosen);
    Assignment after = reduction.expand(chosen);
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
  dp::Reduction reduction = reductionOf(problem, dp::Dominance::Seconds);
  Landscape landscape(reduction);
  std::vector<uint32_t> chosen(4, 0);
  repair(landscape, std::nullopt, noDeadline, chosen);
  CHECK(chosen == std::vector<uint32_t>{0, 0, 0, 0});
  CHECK(moveForests(landscape, noDeadline, chosen));
  CHECK(chosen == std::vector<uint32_t>{1, 1, 1, 1});
}

TEST_CASE("after a move of forests nothing needs repair but what it changed and what is next to that") {
  size_t numRepaired = 0;
  for (size_t index = 0; index < 400; ++index) {
    Random random(9000 + index);
    Recipe recipe = recipeOf(index, random);
    recipe.numNodes = 14;
    Problem problem = randomProblem(recipe, random);
    problem.memoryLimitBytes.reset();
    INFO("problem " << index << ": " << printProblem(problem));
    std::variant<dp::Reduction, dp::Impossible> reduced = dp::reduce(problem, dp::Dominance::Seconds);
    if (!std::holds_alternative<dp::Reduction>(reduced))
      continue;
    Landscape landscape(std::get<dp::Reduction>(reduced));
    std::vector<uint32_t> repaired = anyChoices(landscape, random);
    repair(landscape, std::nullopt, noDeadline, repaired);
    std::vector<uint32_t> moved = anyChoices(landscape, random);
    for (size_t node = 0; node < moved.size(); ++node) // here and there
      if (random.chance(0.7))
        moved[node] = repaired[node];
    std::vector<uint32_t> nearby = moved;
    repairSince(repaired, landscape, noDeadline, nearby);
    numRepaired += nearby != moved;
    std::vector<uint32_t> everywhere = nearby;
    repair(landscape, std::nullopt, noDeadline, everywhere);
    CHECK(everywhere == nearby);
  }
  CHECK(numRepaired > 100);
}

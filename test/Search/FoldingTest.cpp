// Folding of repeated parts: a folded assignment and its unfolding cost the same.
#include "../../lib/Search/Reduce/Folding.h"
#include "Search/RandomProblems.h"
#include "Search/ReducedProblems.h"

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

ReducedProblem reducedOf(const Problem &problem) { return reducedProblemOf(problem, Dominance::SecondsAndBytes); }

Assignment anyOf(const Problem &problem, Random &random) {
  Assignment assignment;
  for (size_t node = 0; node < problem.nodes.size(); ++node)
    assignment.strategies.push_back(random.below(problem.tableOf(NodeId(node)).costs.size()));
  return assignment;
}

/// Neither strategy dominates the other: one takes fewer seconds, the other fewer bytes.
NodeTable twoWays() { return {{"fast", "small"}, {{1, 2, 0}, {2, 1, 0}}}; }

PairTable table(std::initializer_list<std::initializer_list<std::optional<double>>> rows) {
  PairTable result(rows.size(), rows.begin()->size());
  for (auto [i, row] : llvm::enumerate(rows))
    for (auto [j, cell] : llvm::enumerate(row))
      result.set(i, j, cell);
  return result;
}

/// A chain of identical nodes with one table for all pairs.
Problem chainOf(size_t numNodes, PairTable pairs) {
  Problem problem;
  NodeTableId node = problem.addNodeTable(twoWays());
  PairTableId pair = problem.addPairTable(std::move(pairs));
  for (size_t index = 0; index < numNodes; ++index) {
    NodeId id = problem.addNode("n" + std::to_string(index), node);
    if (index > 0)
      problem.addEdge(NodeId(id.index() - 1), id, pair);
  }
  return problem;
}

} // namespace

TEST_CASE("a folded assignment and its unfolding cost the same and need the same memory") {
  size_t numCompared = 0;
  for (size_t numDistinct : {1, 2, 5})
    for (bool residual : {false, true})
      for (size_t seed = 0; seed < 20; ++seed) {
        Random random(700 + seed);
        Problem problem = randomChain(60, 5, residual, numDistinct, random);
        std::optional<Folding> folding = fold(problem, reducedOf(problem));
        REQUIRE(folding);
        REQUIRE(takeMessage(folding->problem.check()).second.empty());
        CHECK(folding->problem.nodes.size() <= 2 * numDistinct + 10);
        Assignment folded = anyOf(folding->problem, random);
        Assignment whole = folding->unfold(folded);
        Evaluation few = evaluate(folding->problem, folded), all = evaluate(problem, whole);
        CHECK(few.seconds == Approx(all.seconds).epsilon(1e-12));
        CHECK(few.persistentBytes == all.persistentBytes);
        CHECK(few.transientBytes == all.transientBytes);
        bool fewPass = takeMessage(verify(folding->problem, folded)).second.empty();
        CHECK(fewPass == takeMessage(verify(problem, whole)).second.empty());
        ++numCompared;
      }
  CHECK(numCompared == 120);
}

TEST_CASE("the middle of a chain of identical nodes is one node, and its ends are nodes of their own") {
  Problem problem = chainOf(50, table({{0, 3}, {3, 0}}));
  std::optional<Folding> folding = fold(problem, reducedOf(problem));
  REQUIRE(folding);
  // Classes see ends up to two edges away: nodes 0, 1, 48 and 49 differ from the 46 between them.
  CHECK(folding->problem.nodes.size() == 5);
  CHECK(folding->classOf[2] == folding->classOf[47]);
  CHECK(folding->classOf[1] != folding->classOf[2]);
  // 46 nodes of 1 s, and 45 pairs of the class with itself at 0 s.
  NodeId middle(folding->classOf[2]);
  CHECK(folding->problem.tableOf(middle).costs[0] == StrategyCost{46, 92, 0});
}

TEST_CASE("a strategy that cannot be a pair with itself is not offered to a class of neighbours") {
  Problem problem = chainOf(50, table({{std::nullopt, 3}, {3, 0}}));
  std::optional<Folding> folding = fold(problem, reducedOf(problem));
  REQUIRE(folding);
  NodeId middle(folding->classOf[25]);
  REQUIRE(folding->problem.tableOf(middle).costs.size() == 1);
  CHECK(folding->problem.tableOf(middle).names[0] == "small");
  CHECK(folding->unfold({std::vector<uint32_t>(folding->problem.nodes.size(), 0)}).strategies[25] == 1);
}

TEST_CASE("nothing is folded where nothing repeats, or where no strategy is a possible pair with itself") {
  Random random(3);
  Problem distinct = randomChain(40, 4, false, 40, random);
  CHECK_FALSE(fold(distinct, reducedOf(distinct)));
  Problem alternating = chainOf(50, table({{std::nullopt, 3}, {3, std::nullopt}}));
  CHECK_FALSE(fold(alternating, reducedOf(alternating)));
  Problem empty;
  CHECK_FALSE(fold(empty, reducedOf(empty)));
}

// Fewer bytes at equal seconds: parameters that are cut at their use are kept cut.
#include "Search/RandomProblems.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/LeastBytes.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

/// Keeping the whole (8 B) and keeping a half (4 B); both take no time.
NodeTable wholeOrHalf(bool persists) {
  NodeTable table{{"whole", "half"}, {{0, 8, 0}, {0, 4, 0}}};
  for (StrategyCost &cost : table.costs)
    if (!persists)
      std::swap(cost.persistentBytes, cost.transientBytes);
  return table;
}

/// From whole to half is a slice, from half to whole a gather of 1 s.
PairTable moves() {
  PairTable table(2, 2);
  table.set(1, 0, 1.0);
  return table;
}

/// Fastest first, then fewest persistent bytes, over all assignments.
std::pair<double, int64_t> bestByEnumeration(const Problem &problem) {
  Assignment assignment{std::vector<uint32_t>(problem.nodes.size(), 0)};
  std::optional<std::pair<double, int64_t>> best;
  for (size_t node = 0; node < problem.nodes.size();) {
    if (!llvm::errorToBool(verify(problem, assignment))) {
      Evaluation cost = evaluate(problem, assignment);
      std::pair found(cost.seconds, cost.persistentBytes);
      best = best ? std::min(*best, found) : found;
    }
    for (node = 0; node < problem.nodes.size(); ++node) {
      if (++assignment.strategies[node] < problem.tableOf(NodeId(node)).costs.size())
        break;
      assignment.strategies[node] = 0;
    }
  }
  return *best;
}

} // namespace

TEST_CASE("A parameter whose transpose and hub lead to users of halves is kept as a half") {
  Problem problem;
  NodeTableId parameter = problem.addNodeTable(wholeOrHalf(true)), value = problem.addNodeTable(wholeOrHalf(false));
  NodeTableId user = problem.addNodeTable({{"on halves"}, {{2, 0, 0}}});
  PairTable toUser(2, 1);
  toUser.set(0, 0, 0.0);
  toUser.set(1, 0, 0.0);
  PairTableId between = problem.addPairTable(moves()), last = problem.addPairTable(toUser);
  NodeId weight = problem.addNode("weight", parameter), transpose = problem.addNode("transpose", value),
         hub = problem.addNode("hub", value);
  problem.addEdge(weight, transpose, between);
  problem.addEdge(transpose, hub, between);
  for (const char *name : {"first", "second"})
    problem.addEdge(hub, problem.addNode(name, user), last);
  // No node alone can change: the weight would be gathered for the transpose, the transpose for the hub.
  Assignment least = withLeastBytes(problem, {{0, 0, 0, 0, 0}});
  CHECK(least == Assignment{{1, 1, 1, 0, 0}});
}

TEST_CASE("Answers become no slower and no larger, and on chains none is as fast with fewer bytes") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Recipe recipe = recipeOf(seed, random);
    recipe.wholeNumbers = true;
    recipe.numNodes = std::min<size_t>(recipe.numNodes, 5);
    Problem problem = randomProblem(recipe, random);
    llvm::Expected<SearchResult> fastest = searchExhaustive(problem, {});
    REQUIRE(static_cast<bool>(fastest));
    if (!fastest->hasAnswer())
      continue;
    Assignment least = withLeastBytes(problem, fastest->assignment);
    CHECK_FALSE(llvm::errorToBool(verify(problem, least)));
    Evaluation before = evaluate(problem, fastest->assignment), after = evaluate(problem, least);
    INFO("seed " << seed);
    CHECK(after.seconds == before.seconds);
    CHECK(after.bytes() <= before.bytes());
    if (recipe.shape == Shape::Chain && !recipe.limitMemory)
      CHECK(after.persistentBytes == bestByEnumeration(problem).second);
  }
}

TEST_CASE("Copies of a problem are moved like the problem alone") {
  size_t numMoved = 0;
  for (size_t seed = 0; seed < 60; ++seed) {
    Random random(6400 + seed);
    Problem one = randomChain(8, 4, true, 4, random);
    for (NodeTable &table : one.nodeTables)
      for (StrategyCost &cost : table.costs)
        cost.transientBytes = 0; // their largest is not that of each copy
    Assignment start;
    for (size_t node = 0; node < one.nodes.size(); ++node)
      start.strategies.push_back(random.below(one.tableOf(NodeId(node)).costs.size()));
    Assignment moved = withLeastBytes(one, start), expected = moved;
    Problem all = one;
    Assignment begin = start;
    for (size_t copy = 1; copy < 5; ++copy) {
      size_t first = all.nodes.size();
      for (const Node &node : one.nodes)
        all.addNode(node.name + "." + std::to_string(copy), node.table);
      for (const Edge &edge : one.edges)
        all.addEdge(NodeId(first + edge.from.index()), NodeId(first + edge.to.index()), edge.table);
      llvm::append_range(begin.strategies, start.strategies);
      llvm::append_range(expected.strategies, moved.strategies);
    }
    CHECK(withLeastBytes(all, begin) == expected);
    numMoved += moved != start;
  }
  CHECK(numMoved > 20);
}

// Minimum cuts against all sets of nodes of small graphs.
#include "apc/Graph/MinimumCut.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <limits>
#include <random>

using namespace apc;

namespace {

/// Does some path from a source to a target meet none of the nodes that are set in `chosen`?
bool leavesPath(const CutGraph &graph, unsigned chosen) {
  auto isChosen = [&](size_t node) { return (chosen >> node & 1) != 0; };
  unsigned reached = 0;
  for (size_t source : graph.sources)
    if (!isChosen(source))
      reached |= 1U << source;
  for (size_t round = 0; round < graph.weights.size(); ++round)
    for (auto [from, to] : graph.edges)
      if ((reached >> from & 1) != 0 && !isChosen(to))
        reached |= 1U << to;
  return llvm::any_of(graph.targets, [&](size_t target) { return (reached >> target & 1) != 0; });
}

int64_t weightOf(const CutGraph &graph, unsigned chosen) {
  int64_t sum = 0;
  for (size_t node = 0; node < graph.weights.size(); ++node)
    sum += (chosen >> node & 1) != 0 ? graph.weights[node] : 0;
  return sum;
}

unsigned setOf(llvm::ArrayRef<size_t> nodes) {
  unsigned chosen = 0;
  for (size_t node : nodes)
    chosen |= 1U << node;
  return chosen;
}

int64_t leastWeight(const CutGraph &graph) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (unsigned chosen = 0; chosen < 1U << graph.weights.size(); ++chosen)
    if (!leavesPath(graph, chosen))
      least = std::min(least, weightOf(graph, chosen));
  return least;
}

CutGraph drawGraph(std::mt19937 &random) {
  CutGraph graph;
  size_t size = 2 + random() % 9;
  for (size_t node = 0; node < size; ++node) {
    graph.weights.push_back(static_cast<int64_t>(random() % 9));
    for (size_t earlier = 0; earlier < node; ++earlier)
      if (random() % 3 == 0)
        graph.edges.emplace_back(earlier, node);
    if (random() % 3 == 0)
      graph.sources.push_back(node);
    if (random() % 3 == 0)
      graph.targets.push_back(node);
  }
  return graph;
}

} // namespace

TEST_CASE("A minimum cut weighs what the lightest of all sets of nodes does that leave no path") {
  std::mt19937 random(1);
  unsigned nonEmpty = 0;
  for (unsigned round = 0; round < 400; ++round) {
    CutGraph graph = drawGraph(random);
    INFO("graph " << round);
    unsigned found = setOf(minimumNodeCut(graph));
    CHECK_FALSE(leavesPath(graph, found));
    CHECK(weightOf(graph, found) == leastWeight(graph));
    nonEmpty += found != 0 ? 1 : 0;
  }
  CHECK(nonEmpty > 100);
}

TEST_CASE("Of equal cuts the one nearest to the targets is taken") {
  CHECK(minimumNodeCut({{4, 2, 2, 3}, {{0, 1}, {1, 2}, {2, 3}}, {0}, {3}}) == std::vector<size_t>{2});
  CHECK(minimumNodeCut({{2, 2, 2}, {{0, 1}, {1, 2}}, {0}, {2}}) == std::vector<size_t>{2});
  // 0 feeds two targets of 1 each, and both together weigh as much as it does.
  CHECK(minimumNodeCut({{2, 1, 1}, {{0, 1}, {0, 2}}, {0}, {1, 2}}) == std::vector<size_t>{1, 2});
  CHECK(minimumNodeCut({{2, 1, 2}, {{0, 1}, {0, 2}}, {0}, {1, 2}}) == std::vector<size_t>{0});
}

TEST_CASE("Without a path nothing is cut, and a node that is source and target is") {
  CHECK(minimumNodeCut({{2, 1}, {{1, 0}}, {0}, {1}}).empty());
  CHECK(minimumNodeCut({{5}, {}, {0}, {0}}) == std::vector<size_t>{0});
  CHECK(minimumNodeCut({}).empty());
}

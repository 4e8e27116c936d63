// Problems of graphs whose values are exchanged together: their least sums bound the programs.
#include "RandomGraphs.h"

#include "apc/Search/Algorithms.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Whatever moves are taken together, the least sum is no more than what the program takes") {
  std::mt19937_64 random(31);
  size_t numPrograms = 0, numBuckets = 0, numWaiting = 0;
  for (size_t round = 0; round < 600; ++round) {
    OpGraph graph = randomGraph(random, 8);
    Mesh mesh;
    CostModel model = modelOn(round % 2 ? 4 : 8, mesh);
    std::vector<Strategy> strategies = drawStrategies(graph, mesh, random);
    Fusion fusion = drawFusion(graph, random);
    llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model, {}, fusion);
    if (!cost) {
      llvm::consumeError(cost.takeError()); // a value that cannot become partial
      continue;
    }
    PlanningProblem planning = problemOfStrategies(graph, model, strategies, fusion);
    llvm::Expected<SearchResult> result = searchDp(planning.problem, {});
    REQUIRE(bool(result));
    CHECK(result->seconds <= cost->seconds() * (1 + 1e-12));
    // Nor is any program slower than one with each move alone, whose ways are the same.
    double alone = cost->computeSeconds;
    for (const GraphMove &move : cost->moves)
      for (const Collective &collective : move.redistribution.collectives)
        alone += double(move.repeats) * model.collectiveSeconds(collective);
    CHECK(cost->seconds() <= alone * (1 + 1e-12));
    ++numPrograms;
    numBuckets += cost->buckets.size();
    std::vector<OpId> order = programOrder(graph, cost->moves, cost->buckets);
    CHECK(order.size() == graph.ops.size());
    numWaiting += !std::is_sorted(order.begin(), order.end());
  }
  CHECK(numPrograms > 200);
  CHECK(numBuckets > 20);
  CHECK(numWaiting > 0);
}

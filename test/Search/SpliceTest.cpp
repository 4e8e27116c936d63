// Walks between two assignments: layers change together with their parameters.
#include "../../lib/Search/Local/LocalSearch.h"

#include <catch2/catch.hpp>

#include <string>

using namespace apc;

/// Layers of a parameter and an op, all parameters first, as in the graph of a model. A layer takes 2 s with 1 byte or
/// 1 s with 3 bytes; an op that wants its parameter otherwise than it rests takes 10 s more.
static Problem layersBehindTheirParameters(unsigned numLayers) {
  Problem problem;
  NodeTableId parameter = problem.addNodeTable({{"cut", "whole"}, {{0, 1, 0}, {0, 3, 0}}});
  NodeTableId op = problem.addNodeTable({{"slow", "fast"}, {{2, 0, 0}, {1, 0, 0}}});
  PairTable table(2, 2);
  table.set(0, 1, 10);
  table.set(1, 0, 10);
  PairTableId pair = problem.addPairTable(std::move(table));
  for (unsigned layer = 0; layer < numLayers; ++layer)
    problem.addNode("w" + std::to_string(layer), parameter);
  for (unsigned layer = 0; layer < numLayers; ++layer) {
    NodeId node = problem.addNode("op" + std::to_string(layer), op);
    problem.addEdge(NodeId(layer), node, pair);
  }
  return problem;
}

TEST_CASE("a walk reaches the assignment in which as many layers are fast as fit") {
  Problem problem = layersBehindTheirParameters(6);
  Assignment small{std::vector<uint32_t>(12, 0)}, large{std::vector<uint32_t>(12, 1)};
  for (int64_t numFast = 0; numFast <= 6; ++numFast) {
    problem.memoryLimitBytes = 6 + 2 * numFast;
    std::optional<Assignment> found = bestSplice(problem, small, large);
    INFO(numFast << " layers may be fast");
    REQUIRE(found);
    CHECK(evaluate(problem, *found).seconds == 12 - static_cast<double>(numFast));
  }
}

// Bounds on problems that are too large for an oracle, but whose optimum is known by construction.
#include "Search/RandomProblems.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

/// A problem and one of its best assignments.
struct Planted {
  Problem problem;
  double seconds = 0; ///< of the optimum
};

/// Each node has edges to the node before it and to some of the nodes up to `width` back. The planted strategy is the
/// cheapest of every node, and every planted pair is the cheapest of its table. Then random amounts are moved from
/// edges to their nodes: a whole number for each strategy of each end, so that sums are exact and no table shows the
/// plant.
Planted plant(size_t numNodes, size_t numStrategies, size_t width, Random &random) {
  std::vector<uint32_t> planted;
  std::vector<std::vector<double>> own(numNodes);
  for (size_t node = 0; node < numNodes; ++node) {
    planted.push_back(random.below(numStrategies));
    for (uint32_t strategy = 0; strategy < numStrategies; ++strategy)
      own[node].push_back(1000 + (strategy == planted.back() ? 0 : static_cast<double>(1 + random.below(60))));
  }
  Planted result;
  std::vector<std::tuple<size_t, size_t, PairTable>> pairs;
  for (size_t node = 1; node < numNodes; ++node)
    for (size_t distance = 1; distance <= std::min(width, node); ++distance) {
      if (distance > 1 && random.chance(0.4))
        continue;
      size_t other = node - distance;
      std::vector<double> given(numStrategies), taken(numStrategies);
      for (double &amount : given)
        amount = static_cast<double>(random.below(40));
      for (double &amount : taken)
        amount = static_cast<double>(random.below(40));
      PairTable table(numStrategies, numStrategies);
      for (uint32_t i = 0; i < numStrategies; ++i)
        for (uint32_t j = 0; j < numStrategies; ++j) {
          bool isPlanted = i == planted[other] && j == planted[node];
          double seconds = isPlanted ? 0 : static_cast<double>(random.below(50));
          table.set(i, j, seconds + given[i] + taken[j]);
        }
      for (uint32_t strategy = 0; strategy < numStrategies; ++strategy) {
        own[other][strategy] -= given[strategy];
        own[node][strategy] -= taken[strategy];
      }
      pairs.emplace_back(other, node, std::move(table));
    }
  for (auto [node, seconds] : llvm::enumerate(own)) {
    NodeTable table;
    for (auto [strategy, value] : llvm::enumerate(seconds)) {
      table.names.push_back("s" + std::to_string(strategy));
      table.costs.push_back({value, 0, 0});
    }
    result.problem.addNode("n" + std::to_string(node), result.problem.addNodeTable(std::move(table)));
  }
  for (auto &[from, to, table] : pairs)
    result.problem.addEdge(NodeId(from), NodeId(to), result.problem.addPairTable(std::move(table)));
  result.seconds = 1000 * static_cast<double>(numNodes);
  return result;
}

} // namespace

TEST_CASE("twelve nets of 300 to 600 nodes and cut width 3 to 5 are solved to their known optimum") {
  for (size_t index = 0; index < 12; ++index) {
    Random random(70 + index);
    size_t width = 3 + index % 3;
    Planted planted = plant(300 + 25 * index + random.below(26), /*numStrategies=*/7 - width + 1, width, random);
    INFO("net " << index);
    for (llvm::StringRef name : {"dp", "auto"}) {
      SearchResult result = llvm::cantFail(llvm::cantFail(findSearch(name)).run(planted.problem, {}));
      CHECK(result.status == SearchStatus::Optimal);
      CHECK(result.seconds == planted.seconds);
    }
    SearchResult near = llvm::cantFail(searchRecursive(planted.problem, {}));
    CHECK(near.seconds >= planted.seconds);
    CHECK(near.seconds <= 1.03 * planted.seconds);
    CHECK(near.lowerBoundSeconds <= planted.seconds);
    CHECK(near.lowerBoundSeconds >= 0.97 * planted.seconds);
  }
}

TEST_CASE("an MLP of 400 layers and 8 strategies, read from a problem file, is solved to its known optimum") {
  Random random(5);
  Planted planted = plant(400, 8, 1, random);
  Problem read = llvm::cantFail(parseProblem(printProblem(planted.problem), "mlp.json"));
  for (llvm::StringRef name : {"dp", "auto", "recursive"}) {
    SearchResult result = llvm::cantFail(llvm::cantFail(findSearch(name)).run(read, {}));
    INFO(name.str());
    CHECK(result.status == SearchStatus::Optimal);
    CHECK(result.seconds == planted.seconds);
  }
}

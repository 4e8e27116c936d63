// Random problems: edges by shape, then tables.
#include "Search/RandomProblems.h"

#include <algorithm>
#include <map>

namespace apc::test {

uint64_t Random::next() {
  uint64_t mixed = state += 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

namespace {

using Ends = std::vector<std::pair<size_t, size_t>>;

Ends endsOf(Shape shape, size_t numNodes, Random &random) {
  Ends ends;
  for (size_t node = 1; node < numNodes; ++node)
    switch (shape) {
    case Shape::Tree:
      ends.push_back({random.below(node), node});
      break;
    case Shape::Diamond:
      ends.push_back({node < 3 ? 0 : node - 1 - random.below(2), node});
      if (node % 3 == 0)
        ends.push_back({node - 2, node});
      break;
    case Shape::Clique:
      for (size_t other = node < 4 ? 0 : node - 1; other < node; ++other)
        ends.push_back({other, node});
      break;
    case Shape::Disconnected:
      if (node % 3 != 0)
        ends.push_back({node - 1, node});
      break;
    case Shape::ParallelEdges:
      for (size_t copy = 0; copy <= random.below(3); ++copy)
        ends.push_back(random.chance(0.5) ? std::pair(node - 1, node) : std::pair(node, node - 1));
      break;
    case Shape::Residual:
      if (node >= 2)
        ends.push_back({node - 2, node});
      [[fallthrough]];
    case Shape::Chain:
    case Shape::Ring:
      ends.push_back({node - 1, node});
      break;
    }
  if (shape == Shape::Ring && numNodes > 2)
    ends.push_back({numNodes - 1, 0});
  return ends;
}

double randomSeconds(const Recipe &recipe, Random &random) {
  return recipe.wholeNumbers ? static_cast<double>(random.below(4)) : random.unit();
}

NodeTable randomNodeTable(const Recipe &recipe, size_t numStrategies, Random &random) {
  NodeTable table;
  for (size_t strategy = 0; strategy < numStrategies; ++strategy) {
    table.names.push_back("s" + std::to_string(strategy));
    table.costs.push_back({randomSeconds(recipe, random), static_cast<int64_t>(random.below(20)),
                           static_cast<int64_t>(random.below(12))});
  }
  return table;
}

PairTable randomPairTable(const Recipe &recipe, size_t rows, size_t columns, Random &random) {
  PairTable table(rows, columns);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column) {
      std::optional<double> seconds = randomSeconds(recipe, random);
      if (random.chance(recipe.impossiblePairs))
        seconds.reset();
      table.set(row, column, seconds);
    }
  return table;
}

} // namespace

Problem randomProblem(const Recipe &recipe, Random &random) {
  Problem problem;
  for (size_t table = 0; table < recipe.numDistinctTables; ++table)
    problem.addNodeTable(randomNodeTable(recipe, 1 + random.below(recipe.maxStrategies), random));
  for (size_t node = 0; node < recipe.numNodes; ++node)
    problem.addNode("n" + std::to_string(node), NodeTableId(random.below(recipe.numDistinctTables)));
  std::map<std::pair<size_t, size_t>, std::vector<PairTableId>> bySize;
  for (auto [from, to] : endsOf(recipe.shape, recipe.numNodes, random)) {
    std::pair size(problem.tableOf(NodeId(from)).costs.size(), problem.tableOf(NodeId(to)).costs.size());
    std::vector<PairTableId> &known = bySize[size];
    if (known.size() < recipe.numDistinctTables)
      known.push_back(problem.addPairTable(randomPairTable(recipe, size.first, size.second, random)));
    problem.addEdge(NodeId(from), NodeId(to), known[random.below(known.size())]);
  }
  if (recipe.limitMemory) {
    Assignment assignment;
    for (size_t node = 0; node < problem.nodes.size(); ++node)
      assignment.strategies.push_back(random.below(problem.tableOf(NodeId(node)).costs.size()));
    problem.memoryLimitBytes = std::max<int64_t>(0, evaluate(problem, assignment).bytes() - int64_t(random.below(12)));
  }
  return problem;
}

Recipe recipeOf(size_t index, Random &random) {
  Recipe recipe;
  recipe.shape = static_cast<Shape>(index % numShapes);
  recipe.limitMemory = index / numShapes % 2 == 1;
  recipe.numNodes = 1 + random.below(7);
  recipe.maxStrategies = 2 + random.below(3);
  recipe.wholeNumbers = random.chance(0.4);
  recipe.impossiblePairs = random.chance(0.5) ? 0 : 0.4 * random.unit();
  recipe.numDistinctTables = 1 + random.below(4);
  return recipe;
}

Problem randomChain(size_t numNodes, size_t numStrategies, bool residual, size_t numDistinct, Random &random) {
  Recipe recipe;
  Problem problem;
  for (size_t table = 0; table < numDistinct; ++table) {
    problem.addNodeTable(randomNodeTable(recipe, numStrategies, random));
    problem.addPairTable(randomPairTable(recipe, numStrategies, numStrategies, random));
  }
  for (size_t node = 0; node < numNodes; ++node) {
    problem.addNode("n" + std::to_string(node), NodeTableId(node % numDistinct));
    if (node >= 1)
      problem.addEdge(NodeId(node - 1), NodeId(node), PairTableId(node % numDistinct));
    if (node >= 2 && residual)
      problem.addEdge(NodeId(node - 2), NodeId(node), PairTableId((node + 1) % numDistinct));
  }
  return problem;
}

} // namespace apc::test

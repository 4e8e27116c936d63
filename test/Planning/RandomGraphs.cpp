// Fans, diamonds, residuals, views and shared weights, drawn by lot.
#include "RandomGraphs.h"

#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"

#include <catch2/catch.hpp>

namespace apc {

namespace {

class Drawer {
public:
  explicit Drawer(std::mt19937_64 &random) : random(random) {
    const int64_t sizes[] = {64, 512, 4096};
    rows = sizes[draw(3)];
    columns = sizes[draw(3)];
  }

  OpGraph run(size_t maxOps) {
    add(maker.source("x", {rows, columns}, ValueRole::Input));
    size_t numOps = 1 + draw(maxOps);
    for (size_t op = 0; op < numOps; ++op)
      add(drawOp("op" + std::to_string(op)));
    for (auto [value, used] : llvm::zip_equal(values, isUsed))
      if (!used)
        maker.sink(value);
    return std::move(maker.graph);
  }

private:
  size_t draw(size_t size) { return static_cast<size_t>(random() % size); }

  void add(ValueId value) {
    values.push_back(value);
    isUsed.push_back(false);
  }

  /// Fans are what is tested: the first values are used again and again.
  ValueId drawOperand() {
    size_t from = std::min(draw(values.size()), draw(values.size()));
    isUsed[from] = true;
    return values[from];
  }

  /// Made for the first MatMul, and shared.
  ValueId sharedWeight() {
    if (!weight) {
      weight = maker.source("w", {columns, columns}, ValueRole::Parameter);
      if (draw(4) == 0)
        weight = maker.transpose("wt", *weight);
    }
    return *weight;
  }

  ValueId drawOp(const std::string &name) {
    ValueId operand = drawOperand();
    switch (draw(6)) {
    case 0:
      return maker.view(name, operand);
    case 1:
      return maker.product(name, operand, drawOperand());
    case 2:
    case 3:
      return maker.relu(name, operand);
    default:
      return maker.matmul(name, operand, sharedWeight());
    }
  }

  std::mt19937_64 &random;
  GraphMaker maker;
  int64_t rows, columns;
  std::optional<ValueId> weight;
  std::vector<ValueId> values;
  std::vector<bool> isUsed;
};

} // namespace

OpGraph randomGraph(std::mt19937_64 &random, size_t maxOps) {
  OpGraph graph = Drawer(random).run(maxOps);
  for (auto [op, atLoad] : llvm::zip_equal(graph.ops, graph.opsAtLoad()))
    op.atLoad = atLoad;
  return graph;
}

std::vector<Strategy> drawStrategies(const OpGraph &graph, const Mesh &mesh, std::mt19937_64 &random) {
  std::vector<Strategy> strategies;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    std::vector<Strategy> offered = enumerateStrategies(graph.ruleOf(OpId(op)), mesh);
    strategies.push_back(offered[random() % offered.size()]);
  }
  return strategies;
}

SumsChecked checkLeastSums(std::mt19937_64 &random, llvm::function_ref<OpGraph()> draw) {
  SumsChecked checked;
  for (size_t round = 0; round < 400; ++round) {
    OpGraph graph = draw();
    Mesh mesh;
    CostModel model = modelOn(round % 2 ? 4 : 8, mesh);
    std::vector<Strategy> strategies = drawStrategies(graph, mesh, random);
    llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model);
    if (!cost) {
      llvm::consumeError(cost.takeError()); // a value that cannot become partial
      continue;
    }
    PlanningProblem planning = buildProblem(
        graph, model, [&](OpId op, const Strategy &strategy) { return strategies[op.index()] == strategy; });
    llvm::Expected<SearchResult> result = searchDp(planning.problem, {});
    REQUIRE(bool(result));
    CHECK(result->seconds == Approx(cost->seconds()).epsilon(1e-12));
    checked.numHubs += planning.decodeHubs(result->assignment).size();
    ++checked.numPrograms;
  }
  return checked;
}

} // namespace apc

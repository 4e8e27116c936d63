// Problems from graphs that are made by hand: the tables, and what the search makes of them.
#include "GraphMaker.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"
#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// x -> up -> relu -> down, `layers` times: Megatron's MLP with `m` rows.
OpGraph mlp(int64_t m, int64_t h, unsigned layers) {
  GraphMaker maker;
  ValueId x = maker.source("x", {m, h}, ValueRole::Input);
  for (unsigned i = 0; i < layers; ++i) {
    std::string layer = "l" + std::to_string(i);
    ValueId up = maker.source(layer + ".up", {h, 4 * h}, ValueRole::Parameter);
    ValueId down = maker.source(layer + ".down", {4 * h, h}, ValueRole::Parameter);
    x = maker.matmul(layer + "/down", maker.relu(layer + "/relu", maker.matmul(layer + "/up", x, up)), down);
  }
  maker.sink(x);
  return maker.graph;
}

std::string strategyOf(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const Mesh &mesh,
                       llvm::StringRef name) {
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (graph.ops[op].name == name)
      return strategies[op].str(graph.ruleOf(OpId(op)), mesh);
  return "no op of that name";
}

} // namespace

TEST_CASE("equal layers share node tables and pair tables") {
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  PlanningProblem two = buildProblem(mlp(512, 1024, 2), model), twenty = buildProblem(mlp(512, 1024, 20), model);
  CHECK(twenty.problem.nodes.size() > 5 * two.problem.nodes.size());
  CHECK(twenty.problem.nodeTables.size() == two.problem.nodeTables.size());
  CHECK(twenty.problem.pairTables.size() == two.problem.pairTables.size());
  CHECK(!twenty.problem.check());
}

TEST_CASE("a narrow MLP is cut as Megatron does: columns, then rows, one collective") {
  OpGraph graph = mlp(16, 8192, 1);
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  PlanningProblem planning = buildProblem(graph, model);
  llvm::Expected<SearchResult> result = searchDp(planning.problem, {});
  REQUIRE(bool(result));
  CHECK(result->status == SearchStatus::Optimal);
  std::vector<Strategy> strategies = planning.decode(result->assignment);
  std::string axis = mesh.axis(AxisId(0)).name;
  CHECK(strategyOf(graph, strategies, mesh, "l0/up") == "n:" + axis);
  CHECK(strategyOf(graph, strategies, mesh, "l0/down") == "k:" + axis);
  llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model);
  REQUIRE(bool(cost));
  // Only the partial sums move; the weights are stored as they are used.
  for (const GraphMove &move : cost->moves)
    UNSCOPED_INFO(graph.value(move.values.front()).name << " -> " << move.target.str(mesh) << ", first collective "
                                                        << move.redistribution.collectives.front().str(mesh));
  REQUIRE(cost->moves.size() == 1);
  REQUIRE(cost->moves[0].values.size() == 1);
  CHECK(graph.value(cost->moves[0].values[0]).name == "l0/down");
  CHECK(cost->memory[MemoryCategory::Parameters] == 2 * 8192 * 4 * 8192 * 2 / 8);
}

TEST_CASE("a wide batch is cut along its rows and nothing moves") {
  OpGraph graph = mlp(1 << 18, 256, 2);
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  PlanningProblem planning = buildProblem(graph, model);
  llvm::Expected<SearchResult> result = searchDp(planning.problem, {});
  REQUIRE(bool(result));
  std::vector<Strategy> strategies = planning.decode(result->assignment);
  CHECK(strategyOf(graph, strategies, mesh, "l1/down") == "m:" + mesh.axis(AxisId(0)).name);
  llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model);
  REQUIRE(bool(cost));
  CHECK(cost->communicationSeconds == 0);
}

TEST_CASE("the search's sum is the program's cost") {
  OpGraph graph = mlp(64, 2048, 3);
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  PlanningProblem planning = buildProblem(graph, model);
  llvm::Expected<SearchResult> result = searchDp(planning.problem, {});
  REQUIRE(bool(result));
  llvm::Expected<GraphCost> cost = costOfGraph(graph, planning.decode(result->assignment), model);
  REQUIRE(bool(cost));
  CHECK(cost->seconds() == Approx(result->seconds).epsilon(1e-12));
}

TEST_CASE("a filter drops strategies and keeps ops that it treats alike together") {
  OpGraph graph = mlp(64, 256, 4);
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  auto whole = [](OpId, const Strategy &strategy) {
    return llvm::all_of(strategy.axes, [](const AxisList &axes) { return axes.empty(); });
  };
  PlanningProblem planning = buildProblem(graph, model, whole);
  for (const NodeTable &table : planning.problem.nodeTables)
    CHECK(table.names == std::vector<std::string>{"replicated"});
  CHECK(planning.problem.nodeTables.size() == buildProblem(mlp(64, 256, 1), model, whole).problem.nodeTables.size());
}

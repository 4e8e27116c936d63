// Values with several users: what the search adds up is what the program takes.
#include "../Sanitized.h"
#include "RandomGraphs.h"

#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The seconds of the fastest of all programs; how many there are in \p count.
double fastestProgram(const OpGraph &graph, const Mesh &mesh, const CostModel &model, size_t &count) {
  Programs programs(graph, mesh);
  std::optional<double> least;
  count = 0;
  do {
    if (llvm::Expected<GraphCost> cost = costOfGraph(graph, programs.current(), model)) {
      ++count;
      least = std::min(least.value_or(cost->seconds()), cost->seconds());
    } else {
      llvm::consumeError(cost.takeError()); // a value that cannot become partial
    }
  } while (programs.advance());
  REQUIRE(least.has_value());
  return *least;
}

} // namespace

TEST_CASE("two users of one value share its redistribution in the sum too") {
  GraphMaker maker;
  ValueId x = maker.source("x", {256, 256}, ValueRole::Input);
  ValueId w = maker.source("w", {256, 256}, ValueRole::Parameter);
  ValueId y = maker.matmul("y", x, w);
  maker.sink(maker.relu("a", y));
  maker.sink(maker.relu("b", y));
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  // y partial over the mesh, both users whole.
  std::string axis = mesh.axis(AxisId(0)).name;
  auto keep = [&](OpId op, const Strategy &strategy) {
    std::string name = maker.graph.op(op).name, text = strategy.str(maker.graph.ruleOf(op), mesh);
    return text == (name == "y" ? "k:" + axis : name == "x" ? "d1:" + axis : name == "w" ? "d0:" + axis : "replicated");
  };
  PlanningProblem planning = buildProblem(maker.graph, model, keep);
  llvm::Expected<SearchResult> result = searchDp(planning.problem, {});
  REQUIRE(bool(result));
  llvm::Expected<GraphCost> cost =
      costOfGraph(maker.graph, planning.decode(result->assignment), model, planning.decodeHubs(result->assignment));
  REQUIRE(bool(cost));
  REQUIRE(cost->moves.size() == 1);
  CHECK(cost->moves[0].users.size() == 2);
  CHECK(result->seconds == Approx(cost->seconds()).epsilon(1e-12));
  REQUIRE(planning.decodeHubs(result->assignment).size() == 1);
  CHECK(planning.decodeHubs(result->assignment)[0].value == y);
}

TEST_CASE("whatever strategies are taken, their least sum is what their program takes") {
  std::mt19937_64 random(11);
  SumsChecked checked = checkLeastSums(random, [&] { return randomGraph(random); });
  CHECK(checked.numPrograms > 100);
  CHECK(checked.numHubs > 50);
}

TEST_CASE("the least sum of a problem is the fastest of all programs") {
  std::mt19937_64 random(7);
  size_t numGraphs = 0, numPrograms = 0;
  while (numGraphs < (isSanitized ? 12 : 60)) {
    OpGraph graph = randomGraph(random);
    Mesh mesh;
    CostModel model = modelOn(numGraphs % 2 ? 2 : 8, mesh);
    if (Programs(graph, mesh).count() > 30000)
      continue;
    ++numGraphs;
    PlanningProblem planning = buildProblem(graph, model);
    llvm::Expected<SearchResult> result = searchDp(planning.problem, {});
    REQUIRE(bool(result));
    REQUIRE(result->status == SearchStatus::Optimal);
    size_t count = 0;
    INFO("graph " << numGraphs << " of " << graph.ops.size() << " ops");
    CHECK(result->seconds == Approx(fastestProgram(graph, mesh, model, count)).epsilon(1e-12));
    numPrograms += count;
  }
  CHECK(numPrograms > (isSanitized ? 5000 : 100000));
}

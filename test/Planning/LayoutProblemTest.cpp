// Problems of layouts: those of several graphs share the seconds of moves.
#include "../../lib/Planning/Problem/LayoutProblem.h"
#include "GraphMaker.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// x w + z, or relu(x w) + z.
OpGraph sumOf(bool hasRelu) {
  GraphMaker maker;
  ValueId x = maker.source("x", {256, 512}, ValueRole::Input);
  ValueId w = maker.source("w", {512, 256}, ValueRole::Parameter);
  ValueId z = maker.source("z", {256, 256}, ValueRole::Input);
  ValueId y = maker.matmul("y", x, w);
  maker.sink(maker.sum("s", hasRelu ? maker.relu("r", y) : y, z));
  return maker.graph;
}

RedistributionSeconds movesOn(const CostModel &model) {
  return RedistributionSeconds(model.getMesh(), [&](const Collective &each) { return model.collectiveSeconds(each); });
}

bool areEqual(const PairTable &a, const PairTable &b) {
  if (a.rows() != b.rows() || a.columns() != b.columns())
    return false;
  for (size_t row = 0; row < a.rows(); ++row)
    for (size_t column = 0; column < a.columns(); ++column)
      if (a.at(row, column) != b.at(row, column))
        return false;
  return true;
}

/// Takes every strategy but those of the sum with whole operands, where \p isPartial is set.
auto keepingPartial(const OpGraph &graph, bool isPartial) {
  return [&graph, isPartial](OpId op, const Strategy &strategy) {
    bool isSum = graph.op(op).operatorName == "add";
    return !isPartial || (isSum ? !strategy.partialInputs.front().empty()
                                : llvm::all_of(strategy.axes, [](const AxisList &axes) { return axes.empty(); }));
  };
}

} // namespace

TEST_CASE("problems that share the seconds of moves have the tables of problems that do not") {
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  RedistributionSeconds moves = movesOn(model);
  for (bool hasRelu : {false, true, false}) {
    OpGraph graph = sumOf(hasRelu);
    auto keep = keepingPartial(graph, /*isPartial=*/false);
    PlanningProblem alone = buildProblem(graph, model, keep);
    std::optional<PlanningProblem> possible =
        possibleProblemOfLayout(graph, model, keep, WeightCopies::Chosen, {}, moves);
    REQUIRE(possible);
    PlanningProblem shared = problemOfLayout(graph, model, keep, WeightCopies::Chosen, {}, moves);
    for (const PlanningProblem *other : {&*possible, &shared}) {
      REQUIRE(other->problem.pairTables.size() == alone.problem.pairTables.size());
      CHECK(other->problem.edges.size() == alone.problem.edges.size());
      for (auto [own, known] : llvm::zip_equal(other->problem.pairTables, alone.problem.pairTables))
        CHECK(areEqual(own, known));
    }
  }
}

TEST_CASE("a problem in which a value cannot become partial for its user is none") {
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  RedistributionSeconds moves = movesOn(model);
  OpGraph graph = sumOf(/*hasRelu=*/false);
  auto keep = keepingPartial(graph, /*isPartial=*/true);
  CHECK(!possibleProblemOfLayout(graph, model, keep, WeightCopies::Chosen, {}, moves));
  PlanningProblem whole = problemOfLayout(graph, model, keep, WeightCopies::Chosen, {}, moves);
  CHECK(whole.problem.edges.size() >= 4);
}

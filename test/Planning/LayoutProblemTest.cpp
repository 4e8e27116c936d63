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

/// Every op is of a kind of its own.
uint32_t apart(OpId op) { return op.value; }

/// Takes every strategy but those of the sum with whole operands, where \p isPartial is set.
auto keepingPartial(const OpGraph &graph, bool isPartial) {
  return [&graph, isPartial](OpId op, const Strategy &strategy) {
    bool isSum = graph.op(op).operatorName == "add";
    return !isPartial || (isSum ? !strategy.partialInputs.front().empty()
                                : llvm::all_of(strategy.axes, [](const AxisList &axes) { return axes.empty(); }));
  };
}

/// The number of the op that is named "first".
uint32_t kindOfFirst(const OpGraph &graph) {
  auto isFirst = [](const GraphOp &op) { return op.name == "first"; };
  return static_cast<uint32_t>(llvm::find_if(graph.ops, isFirst) - graph.ops.begin());
}

size_t nodeNamed(const PlanningProblem &planning, llvm::StringRef name) {
  auto isNamed = [&](const Node &node) { return node.name == name; };
  return static_cast<size_t>(llvm::find_if(planning.problem.nodes, isNamed) - planning.problem.nodes.begin());
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
        possibleProblemOfLayout(graph, model, {keep, apart}, WeightCopies::Chosen, {}, moves);
    REQUIRE(possible);
    PlanningProblem shared = problemOfLayout(graph, model, {keep, apart}, WeightCopies::Chosen, {}, moves);
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
  CHECK(!possibleProblemOfLayout(graph, model, {keep, apart}, WeightCopies::Chosen, {}, moves));
  PlanningProblem whole = problemOfLayout(graph, model, {keep, apart}, WeightCopies::Chosen, {}, moves);
  CHECK(whole.problem.edges.size() >= 4);
}

TEST_CASE("ops of one kind have one table, and ops of others tables by what is left to them") {
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  RedistributionSeconds moves = movesOn(model);
  GraphMaker maker;
  ValueId x = maker.source("x", {256, 512}, ValueRole::Input);
  ValueId first = maker.relu("first", x), second = maker.relu("second", first);
  maker.sink(maker.relu("third", second));
  unsigned asked = 0;
  auto keep = [&](OpId op, const Strategy &strategy) {
    asked += maker.graph.op(op).name == "second";
    bool isThird = maker.graph.op(op).name == "third";
    return !isThird || llvm::all_of(strategy.axes, [](const AxisList &axes) { return axes.empty(); });
  };
  auto kindOf = [&](OpId op) -> uint32_t {
    llvm::StringRef name = maker.graph.op(op).name;
    return name == "second" ? kindOfFirst(maker.graph) : op.value;
  };
  PlanningProblem problem = problemOfLayout(maker.graph, model, {keep, kindOf}, WeightCopies::Chosen, {}, moves);
  auto tableOf = [&](llvm::StringRef name) { return problem.problem.nodes[nodeNamed(problem, name)].table; };
  CHECK(asked == 0);
  CHECK(tableOf("first") == tableOf("second"));
  CHECK(tableOf("first") != tableOf("third"));
}

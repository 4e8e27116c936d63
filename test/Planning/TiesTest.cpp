// Ops that are tied are decided together: one node stands for them, and its table has the cost of all of them.
#include "../ValueOf.h"
#include "GraphMaker.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"

#include "llvm/ADT/STLExtras.h"

using namespace apc;

namespace {

/// x -> first -> second -> output, with a parameter for each product: a forward op and one that follows it.
struct TwoProducts {
  OpId x{0}, w{1}, v{2}, first{3}, second{4}, output{5};
  OpGraph graph;

  TwoProducts() {
    GraphMaker maker;
    ValueId input = maker.source("x", {64, 256}, ValueRole::Input);
    ValueId left = maker.source("w", {256, 512}, ValueRole::Parameter);
    ValueId right = maker.source("v", {512, 128}, ValueRole::Parameter);
    maker.sink(maker.matmul("second", maker.matmul("first", input, left), right));
    graph = std::move(maker.graph);
  }
  TwoProducts(std::vector<TiedOps> ties) : TwoProducts() { graph.ties = std::move(ties); }
};

/// The axes of the factor of that name; none where the rule has no such factor.
AxisList axesOf(const FactorRule &rule, const Strategy &strategy, llvm::StringRef factor) {
  for (auto [index, known] : llvm::enumerate(rule.factors))
    if (known.name == factor)
      return strategy.axes[index];
  return {};
}

/// The strategy of an op whose factors are cut like those of the same name of another op.
Strategy likeLeader(const FactorRule &leader, const Strategy &strategy, const FactorRule &follower) {
  Strategy own;
  own.partialInputs.resize(follower.linear.size());
  for (const Factor &factor : follower.factors)
    own.axes.push_back(axesOf(leader, strategy, factor.name));
  return own;
}

/// The row of an op that stands alone.
size_t rowOf(const PlanningProblem &planning, OpId op, const Strategy &strategy) {
  llvm::ArrayRef<Choice> choices = planning.choicesOf(planning.nodeOf(op));
  const Choice *found =
      llvm::find_if(choices, [&](const Choice &choice) { return choice.strategies.front() == strategy; });
  REQUIRE(found != choices.end());
  return found - choices.begin();
}

StrategyCost costOf(const PlanningProblem &planning, OpId op, const Strategy &strategy) {
  return planning.problem.tableOf(planning.nodeOf(op)).costs[rowOf(planning, op, strategy)];
}

size_t numEdges(const PlanningProblem &planning, OpId from, OpId to) {
  return llvm::count_if(planning.problem.edges, [&](const Edge &edge) {
    return edge.from == planning.nodeOf(from) && edge.to == planning.nodeOf(to);
  });
}

/// Seconds of the fastest program in which every op that is tied does as its leader, by trying everything.
std::optional<double> fastestByTrying(const OpGraph &graph, const CostModel &model) {
  std::vector<std::vector<Strategy>> offered;
  std::vector<OpId> leaderOf;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    auto tie = llvm::find_if(graph.ties, [&](const TiedOps &ops) { return llvm::is_contained(ops, OpId(op)); });
    leaderOf.push_back(tie == graph.ties.end() ? OpId(op) : tie->front());
    bool leads = leaderOf.back() == OpId(op);
    offered.push_back(leads ? enumerateStrategies(graph.ruleOf(OpId(op)), model.getMesh())
                            : std::vector<Strategy>{Strategy()});
  }
  std::vector<size_t> rows(graph.ops.size(), 0);
  std::optional<double> best;
  for (bool isDone = false; !isDone;) {
    std::vector<Strategy> strategies;
    for (size_t op = 0; op < rows.size(); ++op)
      strategies.push_back(offered[op][rows[op]]);
    for (size_t op = 0; op < rows.size(); ++op)
      if (OpId leader = leaderOf[op]; leader != OpId(op))
        strategies[op] = likeLeader(graph.ruleOf(leader), strategies[leader.index()], graph.ruleOf(OpId(op)));
    llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model);
    if (cost)
      best = std::min(best.value_or(cost->seconds()), cost->seconds());
    else
      llvm::consumeError(cost.takeError());
    isDone = true;
    for (size_t op = 0; op < rows.size() && isDone; ++op)
      if (++rows[op] < offered[op].size())
        isDone = false;
      else
        rows[op] = 0;
  }
  return best;
}

} // namespace

TEST_CASE("one node stands for the ops that are tied") {
  TwoProducts tied({{OpId(3), OpId(4)}});
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  PlanningProblem planning = buildProblem(tied.graph, model);
  CHECK_FALSE(static_cast<bool>(planning.problem.check()));
  REQUIRE(planning.problem.nodes.size() == tied.graph.ops.size() - 1);
  CHECK(planning.nodeOf(tied.first) == planning.nodeOf(tied.second));
  CHECK(planning.opsOf(planning.nodeOf(tied.first)) == llvm::ArrayRef<OpId>{tied.first, tied.second});
  CHECK(planning.problem.nodes[planning.nodeOf(tied.first).index()].name == "first");
  CHECK(planning.opsOf(planning.nodeOf(tied.output)) == llvm::ArrayRef<OpId>{tied.output});
  CHECK(planning.nodeOf(tied.output) == NodeId(4)); // behind the node of the tied ops, not behind their last op
  for (size_t node = 0; node < planning.ops.size(); ++node)
    for (OpId op : planning.opsOf(NodeId(node)))
      CHECK(planning.nodeOf(op) == NodeId(node));
}

TEST_CASE("an op that follows takes the axes of the leader's factors by name") {
  TwoProducts tied({{OpId(3), OpId(4)}});
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  PlanningProblem planning = buildProblem(tied.graph, model);
  const FactorRule &first = tied.graph.ruleOf(tied.first), &second = tied.graph.ruleOf(tied.second);
  NodeId node = planning.nodeOf(tied.first);
  CHECK(planning.choicesOf(node).size() == enumerateStrategies(first, mesh).size());
  for (size_t row = 0; row < planning.choicesOf(node).size(); ++row) {
    const Strategy &leading = planning.strategyOf(tied.first, row), &own = planning.strategyOf(tied.second, row);
    INFO(leading.str(first, mesh) << " and " << own.str(second, mesh));
    for (const char *factor : {"m", "k", "n"})
      CHECK(axesOf(second, own, factor) == axesOf(first, leading, factor));
    CHECK(planning.problem.tableOf(node).names[row] == leading.str(first, mesh));
    CHECK(planning.findChoice(node, planning.decode({{0, 0, 0, static_cast<uint32_t>(row), 0}})) == row);
  }
}

TEST_CASE("factors of a follower that the leader does not have stay whole") {
  GraphMaker maker;
  ValueId x = maker.source("x", {64, 256}, ValueRole::Input), w = maker.source("w", {256, 64}, ValueRole::Parameter);
  maker.sink(maker.named("mix", maker.matmul("product", x, w), {"m", "q"}));
  OpId product(2), mix(3);
  maker.graph.ties = {{product, mix}};
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  PlanningProblem planning = buildProblem(maker.graph, model);
  size_t numCut = 0;
  for (size_t row = 0; row < planning.choicesOf(planning.nodeOf(mix)).size(); ++row) {
    const Strategy &leading = planning.strategyOf(product, row), &own = planning.strategyOf(mix, row);
    CHECK(axesOf(maker.graph.ruleOf(mix), own, "m") == axesOf(maker.graph.ruleOf(product), leading, "m"));
    CHECK(axesOf(maker.graph.ruleOf(mix), own, "q").empty());
    numCut += !axesOf(maker.graph.ruleOf(mix), own, "m").empty();
  }
  CHECK(numCut > 0);
}

TEST_CASE("a copy of an op does as the op, partial operands included, and is no sum of gradients") {
  GraphMaker maker;
  ValueId x = maker.source("x", {64, 256}, ValueRole::Input), w = maker.source("w", {256, 64}, ValueRole::Parameter);
  ValueId v = maker.source("v", {256, 64}, ValueRole::Parameter);
  ValueId left = maker.matmul("left", x, w), right = maker.matmul("right", x, v);
  maker.sink(maker.sum("sum", left, right));
  maker.sink(maker.sum("copy", left, right));
  OpId sum(5), copy(7);
  REQUIRE(maker.graph.op(copy).name == "copy");
  maker.graph.ties = {{sum, copy}};
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  PlanningProblem planning = buildProblem(maker.graph, model);
  size_t numPartial = 0, numChoices = planning.choicesOf(planning.nodeOf(sum)).size();
  CHECK(numChoices == enumerateStrategies(maker.graph.ruleOf(sum), mesh).size());
  for (size_t row = 0; row < numChoices; ++row) {
    CHECK(planning.strategyOf(copy, row) == planning.strategyOf(sum, row));
    numPartial += !planning.strategyOf(sum, row).partialInputs.front().empty();
  }
  CHECK(numPartial > 0);
}

TEST_CASE("strategies of the leader that are illegal for a follower are not offered") {
  GraphMaker maker;
  ValueId x = maker.source("x", {64, 256}, ValueRole::Input), w = maker.source("w", {256, 64}, ValueRole::Parameter);
  maker.sink(maker.matmul("product", x, w));
  maker.sink(maker.named("small", maker.source("s", {2, 64}, ValueRole::Input), {"m", "n"}));
  auto byName = [&](llvm::StringRef name) {
    return OpId(llvm::find_if(maker.graph.ops, [&](const GraphOp &op) { return op.name == name; }) -
                maker.graph.ops.begin());
  };
  OpId product = byName("product"), small = byName("small");
  maker.graph.ties = {{product, small}};
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  PlanningProblem planning = buildProblem(maker.graph, model);
  // Two rows cannot be cut 8 ways, so neither are the 64 of the leader.
  std::vector<std::string> expected;
  for (const Strategy &strategy : enumerateStrategies(maker.graph.ruleOf(product), mesh))
    if (axesOf(maker.graph.ruleOf(product), strategy, "m").empty())
      expected.push_back(strategy.str(maker.graph.ruleOf(product), mesh));
  CHECK(planning.problem.tableOf(planning.nodeOf(small)).names == expected);
  CHECK(expected.size() < enumerateStrategies(maker.graph.ruleOf(product), mesh).size());
}

TEST_CASE("seconds and persistent bytes of tied ops are sums, transient bytes the largest beside what is kept") {
  TwoProducts alone, tied({{OpId(1), OpId(2)}, {OpId(3), OpId(4)}});
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  PlanningProblem apart = buildProblem(alone.graph, model), planning = buildProblem(tied.graph, model);
  auto inner = llvm::find_if(apart.problem.edges, [&](const Edge &edge) {
    return edge.from == apart.nodeOf(alone.first) && edge.to == apart.nodeOf(alone.second);
  });
  REQUIRE(inner != apart.problem.edges.end());
  double movedSeconds = 0;
  for (auto [leader, follower] : {std::pair(tied.w, tied.v), std::pair(tied.first, tied.second)}) {
    NodeId node = planning.nodeOf(leader);
    for (size_t row = 0; row < planning.choicesOf(node).size(); ++row) {
      const Strategy &leading = planning.strategyOf(leader, row), &own = planning.strategyOf(follower, row);
      INFO(planning.problem.tableOf(node).names[row]);
      StrategyCost a = costOf(apart, leader, leading), b = costOf(apart, follower, own);
      double moved = 0;
      if (leader == tied.first)
        moved = apart.problem.tableOf(*inner).at(rowOf(apart, leader, leading), rowOf(apart, follower, own)).value();
      const StrategyCost &together = planning.problem.tableOf(node).costs[row];
      CHECK(together.seconds == Approx(a.seconds + b.seconds + moved).epsilon(1e-12));
      // The product that the second op reads is kept for it; the first product and the input are beside it.
      int64_t kept = 0, made = 0, input = 0, scratch = model.workspaceBytes(tied.graph.ruleOf(tied.first));
      if (leader == tied.first) {
        const FactorRule &rule = tied.graph.ruleOf(leader), &second = tied.graph.ruleOf(follower);
        kept = model.localBytes(rule.resultShape(0), resultSharding(rule, leading, 0));
        input = model.localBytes(rule.operandShape(0), operandSharding(rule, leading, 0));
        made = model.localBytes(second.resultShape(0), resultSharding(second, own, 0));
      }
      CHECK(together.persistentBytes == a.persistentBytes + b.persistentBytes + kept);
      CHECK(together.transientBytes ==
            (leader == tied.first ? scratch + std::max(input, made) : std::max(a.transientBytes, b.transientBytes)));
      movedSeconds += moved;
    }
  }
  CHECK(movedSeconds > 0); // a product that is cut along n hands over columns, and all of them are wanted
  CHECK(planning.problem.tableOf(planning.nodeOf(tied.w)).costs.front().persistentBytes > 0);
}

TEST_CASE("a value between tied ops has no edge, values from and to them have") {
  TwoProducts alone, tied({{OpId(3), OpId(4)}});
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  PlanningProblem apart = buildProblem(alone.graph, model), planning = buildProblem(tied.graph, model);
  CHECK(planning.problem.edges.size() == apart.problem.edges.size() - 1);
  for (const Edge &edge : planning.problem.edges)
    CHECK_FALSE(edge.from == edge.to);
  CHECK(numEdges(apart, alone.first, alone.second) == 1);
  CHECK(numEdges(planning, tied.x, tied.first) == 1);
  CHECK(numEdges(planning, tied.v, tied.first) == 1); // read by the op that follows
  CHECK(numEdges(planning, tied.second, tied.output) == 1);
}

TEST_CASE("the best answer of a tied problem is the best program in which tied ops agree") {
  for (std::vector<TiedOps> ties :
       {std::vector<TiedOps>{{OpId(3), OpId(4)}}, std::vector<TiedOps>{{OpId(1), OpId(2)}, {OpId(3), OpId(4)}},
        std::vector<TiedOps>{{OpId(0), OpId(5)}}, std::vector<TiedOps>{}}) {
    TwoProducts tied(ties);
    Mesh mesh;
    CostModel model = modelOn(2, mesh);
    PlanningProblem planning = buildProblem(tied.graph, model);
    SearchResult result = valueOf(searchExhaustive(planning.problem, {}));
    REQUIRE(result.status == SearchStatus::Optimal);
    INFO(ties.size() << " ties");
    // No value has two users, so that nothing is shared and sum and program agree.
    CHECK(result.seconds == Approx(fastestByTrying(tied.graph, model).value()).epsilon(1e-12));
    CHECK(valueOf(costOfGraph(tied.graph, planning.decode(result.assignment), model)).seconds() ==
          Approx(result.seconds).epsilon(1e-12));
  }
}

TEST_CASE("an assignment decodes to a strategy for each of the tied ops") {
  TwoProducts tied({{OpId(3), OpId(4)}});
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  PlanningProblem planning = buildProblem(tied.graph, model);
  SearchResult result = valueOf(searchDp(planning.problem, {}));
  std::vector<Strategy> strategies = planning.decode(result.assignment);
  REQUIRE(strategies.size() == tied.graph.ops.size());
  uint32_t row = result.assignment[planning.nodeOf(tied.first)];
  CHECK(strategies[tied.first.index()] == planning.strategyOf(tied.first, row));
  CHECK(strategies[tied.second.index()] == planning.strategyOf(tied.second, row));
  CHECK(strategies[tied.second.index()] ==
        likeLeader(tied.graph.ruleOf(tied.first), strategies[tied.first.index()], tied.graph.ruleOf(tied.second)));
}

// Ops that run once for each micro-batch beside ops that run once in a step.
#include "RandomGraphs.h"

#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The first ops run `count` times, from a random one on they run once.
OpGraph inMicroBatches(OpGraph graph, std::mt19937_64 &random, int64_t count) {
  size_t end = random() % (graph.ops.size() + 1);
  for (size_t op = 0; op < end; ++op)
    graph.ops[op].repeats = count;
  return graph;
}

/// x^T . y in every micro-batch, summed over them: the gradient w.grad of a weight. Its step reads the sum once.
struct Accumulation {
  GraphMaker maker;
  OpId gradient{0}, sum{0}, step{0};

  explicit Accumulation(int64_t microBatches) {
    ValueId x = maker.source("x", {1024, 64}, ValueRole::Input), y = maker.source("y", {64, 1024}, ValueRole::Input);
    ValueId made = maker.matmul("grad", x, y);
    ValueId whole = maker.relu("sum", made);
    ValueId stepped = maker.relu("step", whole);
    maker.sink(stepped);
    OpGraph &graph = maker.graph;
    gradient = graph.value(made).producer;
    sum = graph.value(whole).producer;
    step = graph.value(stepped).producer;
    for (OpId op : {gradient, sum})
      graph.ops[op.index()].repeats = microBatches;
    graph.ops[sum.index()].accumulates = true;
    // The sum may take partial gradients, and is decided with its step.
    FactorRule rule = graph.ruleOf(sum);
    rule.linear = {{0}};
    graph.rules.push_back(std::move(rule));
    graph.ops[sum.index()].rule = RuleId(graph.rules.size() - 1);
    graph.ops[sum.index()].leadingFactors = {"b0", "b1"};
    graph.ties = {{step, sum}};
  }
};

} // namespace

TEST_CASE("An op costs what its runs cost, a redistribution what those of its user do") {
  std::mt19937_64 random(3);
  size_t numPrograms = 0;
  for (size_t round = 0; round < 200; ++round) {
    OpGraph once = randomGraph(random), often = once;
    for (GraphOp &op : often.ops)
      op.repeats = 5;
    Mesh mesh;
    CostModel model = modelOn(8, mesh);
    std::vector<Strategy> strategies = drawStrategies(once, mesh, random);
    llvm::Expected<GraphCost> single = costOfGraph(once, strategies, model),
                              all = costOfGraph(often, strategies, model);
    if (!single || !all) {
      llvm::consumeError(llvm::joinErrors(single.takeError(), all.takeError()));
      continue;
    }
    ++numPrograms;
    CHECK(all->computeSeconds == Approx(5 * single->computeSeconds).epsilon(1e-12));
    CHECK(all->communicationSeconds == Approx(5 * single->communicationSeconds).epsilon(1e-12));
    CHECK(all->flopsPerDevice == Approx(5 * single->flopsPerDevice).epsilon(1e-12));
    CHECK(all->numCollectives() == 5 * single->numCollectives());
    CHECK(all->memory.total() == single->memory.total());
  }
  CHECK(numPrograms > 50);
}

TEST_CASE("Whatever strategies are taken, the least sum is what the program takes, in micro-batches, too") {
  std::mt19937_64 random(12);
  SumsChecked checked = checkLeastSums(random, [&] { return inMicroBatches(randomGraph(random), random, 3); });
  CHECK(checked.numPrograms > 100);
  CHECK(checked.numHubs > 30);
}

TEST_CASE("A user that runs once does not share the redistributions of those that run with every micro-batch") {
  GraphMaker maker;
  ValueId x = maker.source("x", {256, 256}, ValueRole::Parameter);
  maker.sink(maker.relu("a", x));
  maker.sink(maker.relu("b", x));
  maker.sink(maker.relu("once", x));
  for (size_t op : {1, 3})
    maker.graph.ops[op].repeats = 4;
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  std::vector<Strategy> strategies;
  for (size_t op = 0; op < maker.graph.ops.size(); ++op) {
    strategies.push_back(enumerateStrategies(maker.graph.ruleOf(OpId(op)), mesh).front());
    for (AxisList &axes : strategies.back().axes)
      axes.clear();
  }
  strategies[0].axes[0] = {AxisId(0)}; // x is cut, all users want it whole
  llvm::Expected<GraphCost> cost = costOfGraph(maker.graph, strategies, model);
  REQUIRE(bool(cost));
  REQUIRE(cost->moves.size() == 2);
  CHECK(cost->moves[0].users.size() == 2);
  CHECK(cost->moves[0].repeats == 4);
  CHECK(cost->moves[1].users.size() == 1);
  CHECK(cost->moves[1].repeats == 1);
  CHECK(cost->numCollectives() == 5);
  CHECK(cost->moves[0].redistribution.seconds == Approx(4 * cost->moves[1].redistribution.seconds));
}

TEST_CASE("Partial gradients are summed over micro-batches and reduced once") {
  for (int64_t microBatches : {1, 16}) {
    Accumulation made(microBatches);
    const OpGraph &graph = made.maker.graph;
    Mesh mesh;
    CostModel model = modelOn(8, mesh);
    std::string axis = mesh.axis(AxisId(0)).name;
    // The batch (k) is cut, as data parallelism has it; the step is cut by rows.
    PlanningProblem planning = buildProblem(graph, model, [&](OpId op, const Strategy &strategy) {
      std::string text = strategy.str(graph.ruleOf(op), mesh);
      return op == made.gradient ? text == "k:" + axis : op != made.step || text == "b0:" + axis;
    });
    llvm::Expected<SearchResult> result = searchDp(planning.problem, {});
    REQUIRE(bool(result));
    std::vector<Strategy> strategies = planning.decode(result->assignment);
    llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model, planning.decodeHubs(result->assignment));
    REQUIRE(bool(cost));
    INFO(microBatches << " micro-batches");
    CHECK(result->seconds == Approx(cost->seconds()).epsilon(1e-12));
    CHECK(strategies[made.sum.index()].partialInputs.front().empty() == (microBatches == 1));
    for (const GraphMove &move : cost->moves)
      CHECK(move.repeats == 1);
    CHECK(cost->communicationBytes[CollectiveKind::ReduceScatter] == 1024 * 1024 * 2);
  }
}

TEST_CASE("A sum over micro-batches lives as long as the step") {
  Accumulation often(4), single(1);
  single.maker.graph.ops[single.sum.index()].accumulates = false;
  Mesh mesh;
  CostModel model = modelOn(1, mesh);
  auto peak = [&](const OpGraph &graph) {
    std::vector<Strategy> strategies;
    for (size_t op = 0; op < graph.ops.size(); ++op)
      strategies.push_back(enumerateStrategies(graph.ruleOf(OpId(op)), mesh).front());
    return graphMemory(graph, strategies, model, {}).memory.total();
  };
  // The product is 1024 x 1024 of f16, and so is its sum, which is there already when the product is made.
  constexpr int64_t square = 1024 * 1024 * 2;
  auto workspace = model.workspaceBytes(often.maker.graph.ruleOf(often.gradient));
  constexpr int64_t inputs = 2 * 1024 * 64 * 2;
  CHECK(peak(often.maker.graph) == inputs + 2 * square + workspace);
  CHECK(peak(single.maker.graph) == std::max(inputs + square + workspace, 2 * square));
}

// Steps of training whose communication hides behind computation: bounds and places of collectives.
#include "../Sanitized.h"
#include "RandomGraphs.h"

#include "apc/Schedule/ScheduleStep.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The graph as a step of training: its last value takes the place of its first.
OpGraph trained(OpGraph graph) {
  graph.values.back().replaces = ValueId(0);
  graph.overlaps = true;
  return graph;
}

} // namespace

TEST_CASE("Weighed problems bound the time of every program") {
  std::mt19937_64 random(11);
  size_t numPrograms = 0, numHidden = 0;
  for (unsigned round = 0; round < 60; ++round) {
    OpGraph graph = trained(randomGraph(random, 3));
    bool twoLevels = round % 2;
    Pool pool = pairOfPairs(round % 3 == 0 ? 1 : 0.8);
    Mesh mesh = twoLevels ? Mesh({{"x0", 2, 0}, {"x1", 2, 1}}) : Mesh({{"x0", 2, 1}});
    CostModel model(pool, mesh);
    REQUIRE(graph.overlaps);
    if (Programs(graph, mesh).count() > (isSanitized ? 4000 : 20000))
      continue;
    PlanningProblem planning = buildProblem(graph, model);
    std::vector<double> bounds;
    for (const TimeWeights &weights : boundingWeights(overlapRates(pool.device))) {
      llvm::Expected<SearchResult> least = searchDp(planning.weighed(weights), {});
      REQUIRE(static_cast<bool>(least));
      bounds.push_back(least->lowerBoundSeconds);
    }
    Programs programs(graph, mesh);
    do {
      std::vector<Strategy> strategies = programs.current();
      llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model);
      if (!cost) {
        llvm::consumeError(cost.takeError());
        continue;
      }
      StepTime time = stepTime(graph, *cost, model);
      ++numPrograms;
      numHidden += time.exposedCommunicationSeconds < cost->communicationSeconds * (1 - 1e-9);
      REQUIRE(time.computeSeconds == Approx(cost->computeSeconds));
      REQUIRE(time.communicationSeconds == Approx(cost->communicationSeconds));
      REQUIRE(time.seconds <= cost->seconds() * (1 + 1e-9));
      for (double bound : bounds)
        REQUIRE(bound <= time.seconds * (1 + 1e-9));
    } while (programs.advance());
  }
  CHECK(numPrograms > (isSanitized ? 1000 : 5000));
  CHECK(numHidden > (isSanitized ? 20 : 500));
}

TEST_CASE("Weighed problems of drawn strategies bound their program, by hubs and in buckets, too") {
  std::mt19937_64 random(13);
  size_t numPrograms = 0, numHidden = 0, numBuckets = 0, numWays = 0, numReached = 0;
  for (unsigned round = 0; round < (isSanitized ? 400 : 2000); ++round) {
    OpGraph graph = round % 2 ? trained(randomGraph(random, 8)) : randomTrainingStep(random, 4);
    graph.overlaps = true;
    Pool pool = pairOfPairs(round % 3 == 0 ? 1 : 0.8);
    Mesh mesh({{"x0", 2, 0}, {"x1", 2, 1}});
    CostModel model(pool, mesh);
    std::vector<Strategy> strategies = drawTied(buildProblem(graph, model), random);
    Fusion fusion = round % 4 < 2 ? drawFusion(graph, random) : Fusion();
    llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model, {}, fusion);
    if (!cost) {
      llvm::consumeError(cost.takeError()); // a value that cannot become partial
      continue;
    }
    PlanningProblem planning = problemOfStrategies(graph, model, strategies, fusion);
    StepTime time = stepTime(graph, *cost, model);
    double most = 0;
    for (const TimeWeights &weights : boundingWeights(overlapRates(pool.device))) {
      llvm::Expected<SearchResult> least = searchDp(planning.weighed(weights), {});
      REQUIRE(static_cast<bool>(least));
      most = std::max(most, least->seconds);
    }
    REQUIRE(most <= time.seconds * (1 + 1e-9));
    ++numPrograms;
    numReached += most >= time.seconds * 0.999;
    numHidden += time.exposedCommunicationSeconds < cost->communicationSeconds * (1 - 1e-9);
    numBuckets += cost->buckets.size();
    numWays += planning.exposedWays.size();
  }
  INFO(numPrograms << " " << numHidden << " " << numBuckets << " " << numWays << " " << numReached);
  CHECK(numPrograms > (isSanitized ? 100 : 500));
  CHECK(numHidden > (isSanitized ? 20 : 100));
  CHECK(numBuckets > (isSanitized ? 2 : 10));
  CHECK(numWays > (isSanitized ? 20 : 100));
  CHECK(numReached > (isSanitized ? 60 : 300));
}

namespace {

/// A product whose result an op of its node reads, an op right behind it, and one behind another product.
struct ReadInsideAndOutside {
  GraphMaker maker;
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  std::vector<Strategy> strategies;

  ReadInsideAndOutside() {
    ValueId x = maker.source("x", {1024, 1024}, ValueRole::Input);
    ValueId weight = maker.source("w", {1024, 1024}, ValueRole::Parameter);
    ValueId made = maker.matmul("made", x, weight), inner = maker.relu("inner", made);
    ValueId next = maker.matmul("next", maker.relu("outer", made), weight);
    maker.sink(inner);
    maker.sink(maker.product("later", made, next));
    OpGraph &graph = maker.graph;
    OpId leader = graph.value(made).producer, tied = graph.value(inner).producer;
    graph.ops[tied.index()].leadingFactors = {"m", "n"};
    graph.ties.push_back({leader, tied});
    graph.values.back().replaces = weight;
    graph.overlaps = true;
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      const FactorRule &rule = graph.ruleOf(OpId(op));
      Strategy &strategy = strategies.emplace_back();
      strategy.axes.resize(rule.numFactors());
      strategy.partialInputs.resize(rule.linear.size());
      if (OpId(op) == leader) // what it sums: the result is partial
        strategy.axes[1] = {AxisId(0)};
    }
  }
};

} // namespace

TEST_CASE("A value that is read inside a node and outside is exchanged once, whatever may hide it") {
  ReadInsideAndOutside sample;
  const OpGraph &graph = sample.maker.graph;
  GraphCost cost = llvm::cantFail(costOfGraph(graph, sample.strategies, sample.model));
  StepTime time = stepTime(graph, cost, sample.model);
  REQUIRE(llvm::count_if(cost.moves, [](const GraphMove &move) { return move.redistribution.seconds > 0; }) == 1);
  PlanningProblem planning = problemOfStrategies(graph, sample.model, sample.strategies);
  REQUIRE(planning.exposedWays.size() == 1);
  SearchResult sum = llvm::cantFail(searchDp(planning.problem, {}));
  CHECK(sum.seconds == Approx(cost.seconds()));
  for (const TimeWeights &weights : boundingWeights(overlapRates(sample.model.getPool().device))) {
    SearchResult least = llvm::cantFail(searchDp(planning.weighed(weights), {}));
    CHECK(least.seconds <= time.seconds * (1 + 1e-9));
  }
}

TEST_CASE("Seconds weighed alike are the sum that is searched elsewhere") {
  std::mt19937_64 random(12);
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  for (unsigned round = 0; round < 20; ++round) {
    PlanningProblem planning = buildProblem(trained(randomGraph(random)), model);
    Problem weighed = planning.weighed({});
    CHECK(weighed.pairTables == planning.problem.pairTables);
    for (auto [a, b] : llvm::zip_equal(weighed.nodeTables, planning.problem.nodeTables))
      for (auto [x, y] : llvm::zip_equal(a.costs, b.costs))
        CHECK(x.seconds == Approx(y.seconds));
  }
}

namespace {

/// Four products, one after the other, each with a weight of 2 MiB that is cut over 8 devices and gathered for it; the
/// result of the last takes the place of the first weight.
struct Gathered {
  GraphMaker maker;
  Mesh mesh;
  CostModel model = modelOn(8, mesh);
  std::vector<OpId> products;
  std::vector<Strategy> strategies;

  Gathered() {
    std::vector<ValueId> weights;
    for (const char *name : {"w0", "w1", "w2", "w3"})
      weights.push_back(maker.source(name, {1024, 1024}, ValueRole::Parameter));
    ValueId x = maker.source("x", {4096, 1024}, ValueRole::Input);
    for (auto [index, weight] : llvm::enumerate(weights)) {
      x = maker.matmul("y" + std::to_string(index), x, weight);
      products.push_back(maker.graph.value(x).producer);
    }
    maker.graph.values.back().replaces = weights.front();
    maker.graph.overlaps = true;
    for (const GraphOp &op : maker.graph.ops) {
      const FactorRule &rule = maker.graph.rules[op.rule.index()];
      Strategy strategy;
      strategy.axes.resize(rule.numFactors());
      strategy.partialInputs.resize(rule.linear.size());
      strategy.axes[0] = {AxisId(0)}; // rows
      strategies.push_back(std::move(strategy));
    }
  }
};

} // namespace

TEST_CASE("Weights are gathered one product ahead, and hide behind it") {
  Gathered sample;
  GraphCost cost = llvm::cantFail(costOfGraph(sample.maker.graph, sample.strategies, sample.model));
  REQUIRE(cost.moves.size() == 4);
  for (size_t move = 1; move < 4; ++move)
    CHECK(cost.moves[move].before == sample.products[move - 1]);
  CHECK(cost.moves[0].before == sample.products[0]);
  // A forward pass alone keeps them at their users.
  OpGraph forward = sample.maker.graph;
  forward.values.back().replaces.reset();
  forward.overlaps = false;
  GraphCost atUsers = llvm::cantFail(costOfGraph(forward, sample.strategies, sample.model));
  for (size_t move = 0; move < 4; ++move)
    CHECK(atUsers.moves[move].before == sample.products[move]);
  CHECK(stepTime(forward, atUsers, sample.model).seconds == atUsers.seconds());
  // Two weights of 2 MiB are whole at a time instead of one.
  CHECK(cost.memory.total() == atUsers.memory.total() + (2 << 20));
  // By hand: the first gather, then of op and gather whichever takes longer, then the last op.
  Pool pool = sample.model.getPool();
  pool.device.overlappedComputeShare = pool.device.overlappedCommunicationShare = 1;
  CostModel ideal(pool, sample.mesh);
  double gather = cost.moves[0].redistribution.seconds, op = cost.ops[sample.products[0].index()].seconds();
  CHECK(stepTime(sample.maker.graph, cost, ideal).seconds == Approx(gather + 3 * std::max(gather, op) + op));
}

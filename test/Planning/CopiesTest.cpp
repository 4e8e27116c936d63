// Micro-batches in copies that run in turn: their time, and bounds of it.
#include "../Sanitized.h"
#include "RandomGraphs.h"

#include "apc/Schedule/ScheduleStep.h"
#include "apc/Search/Algorithms.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// `layers` products of square matrices, each of which sums over the devices of a node, and scatters its sums.
struct Layers {
  GraphMaker maker;
  std::vector<Strategy> strategies;

  Layers(unsigned layers, int64_t rows, int64_t copies) {
    ValueId value = maker.source("x", {rows, 4096}, ValueRole::Input);
    ValueId weight = maker.source("w", {4096, 4096}, ValueRole::Parameter);
    for (unsigned layer = 0; layer < layers; ++layer)
      value = maker.matmul("layer" + std::to_string(layer), value, weight);
    maker.sink(value);
    OpGraph &graph = maker.graph;
    graph.values.back().replaces = weight;
    graph.overlaps = true;
    graph.copies = copies;
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      const FactorRule &rule = graph.ruleOf(OpId(op));
      Strategy &strategy = strategies.emplace_back();
      strategy.axes.resize(rule.numFactors());
      strategy.partialInputs.resize(rule.linear.size());
      bool isProduct = rule.work == Work::Contraction, isWeight = op == 1;
      graph.ops[op].repeats = graph.ops[op].operands.empty() ? 1 : copies;
      strategy.axes[isProduct ? 1 : isWeight ? 0 : 1] = {AxisId(0)}; // k; rows of the weight; columns of the others
    }
  }
};

} // namespace

TEST_CASE("Copies of layers take L max(T, C) + min(T, C) / n") {
  auto [rows, numLayers] = GENERATE(table<int64_t, unsigned>({{512, 4}, {16384, 4}, {512, 1}, {16384, 7}}));
  auto copies = GENERATE(2, 3, 4);
  INFO(rows << " rows, " << numLayers << " layers, " << copies << " copies");
  Layers layers(numLayers, rows, copies);
  Mesh mesh({{"x0", 2, 0}});
  CostModel model(pairOfPairs(1), mesh);
  GraphCost cost = llvm::cantFail(costOfGraph(layers.maker.graph, layers.strategies, model));
  REQUIRE(cost.moves.size() == numLayers);
  double compute = cost.computeSeconds / numLayers, sent = cost.communicationSeconds / numLayers; // of all copies
  StepTime time = stepTime(layers.maker.graph, cost, model);
  CHECK(time.seconds == Approx(numLayers * std::max(compute, sent) + std::min(compute, sent) / copies));
  CHECK(time.computeSeconds == Approx(cost.computeSeconds));
  CHECK(time.communicationSeconds == Approx(cost.communicationSeconds));
}

TEST_CASE("Several micro-batches in copies follow each other") {
  Layers layers(4, 512, 2);
  Mesh mesh({{"x0", 2, 0}});
  CostModel model(pairOfPairs(0.8), mesh);
  GraphCost one = llvm::cantFail(costOfGraph(layers.maker.graph, layers.strategies, model));
  double seconds = stepTime(layers.maker.graph, one, model).seconds;
  for (GraphOp &op : layers.maker.graph.ops)
    op.repeats *= op.repeats == 2 ? 3 : 1;
  GraphCost three = llvm::cantFail(costOfGraph(layers.maker.graph, layers.strategies, model));
  CHECK(layers.maker.graph.wholeMicroBatches() == 3);
  CHECK(stepTime(layers.maker.graph, three, model).seconds == Approx(3 * seconds));
}

TEST_CASE("Weighed problems bound the time of programs with copies") {
  std::mt19937_64 random(37);
  size_t numPrograms = 0, numHidden = 0;
  for (unsigned round = 0; round < (isSanitized ? 300U : 1500U); ++round) {
    const auto copies = 2 + static_cast<int64_t>(random() % 2);
    OpGraph graph = stepInMicroBatches(random, 4, 2 * copies);
    graph.overlaps = true;
    graph.copies = copies;
    Pool pool = pairOfPairs(round % 3 == 0 ? 1 : 0.8);
    Mesh mesh({{"x0", 2, 0}, {"x1", 2, 1}});
    CostModel model(pool, mesh);
    std::vector<Strategy> strategies = drawTied(buildProblem(graph, model), random);
    Fusion fusion = round % 2 ? drawFusion(graph, random) : Fusion();
    llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model, {}, fusion);
    if (!cost) {
      llvm::consumeError(cost.takeError()); // a value that cannot become partial
      continue;
    }
    PlanningProblem planning = problemOfStrategies(graph, model, strategies, fusion);
    StepTime time = stepTime(graph, *cost, model);
    ++numPrograms;
    numHidden += time.exposedCommunicationSeconds < cost->communicationSeconds * (1 - 1e-9);
    REQUIRE(time.computeSeconds == Approx(cost->computeSeconds));
    REQUIRE(time.communicationSeconds == Approx(cost->communicationSeconds));
    for (const TimeWeights &weights : boundingWeights(overlapRates(pool.device)))
      REQUIRE(llvm::cantFail(searchDp(planning.weighed(weights), {})).seconds <= time.seconds * (1 + 1e-9));
  }
  CHECK(numPrograms > (isSanitized ? 30 : 200));
  CHECK(numHidden > (isSanitized ? 15 : 100));
}

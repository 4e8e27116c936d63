// Fans, diamonds, residuals, views and shared weights, drawn by lot.
#include "RandomGraphs.h"

#include "apc/Cluster/Cluster.h"

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

/// The layers of a training step, forward and back.
class StepDrawer {
public:
  explicit StepDrawer(std::mt19937_64 &random) : random(random) {
    const int64_t sizes[] = {64, 512, 4096};
    rows = sizes[draw(3)];
    columns = sizes[draw(3)];
  }

  /// Layers that have no weight are multiplied by a mask, which frozen parameters make.
  StepDrawer &withMask() {
    isMasked = true;
    return *this;
  }

  OpGraph run(size_t maxLayers) {
    ValueId value = maker.source("x", {rows, columns}, ValueRole::Input);
    size_t numLayers = 1 + draw(maxLayers);
    for (size_t index = 0; index < numLayers; ++index) {
      Layer layer{value, value, {}};
      if (index == 0 || draw(2))
        layer.weight = drawWeight(index);
      layer.made = layer.weight ? maker.matmul("mm" + std::to_string(index), value, *layer.weight)
                   : isMasked   ? maker.product("masked" + std::to_string(index), value, drawMask())
                                : maker.relu("relu" + std::to_string(index), value);
      value = layer.made;
      layers.push_back(layer);
    }
    ValueId gradient = maker.relu("loss", value);
    for (size_t index = numLayers; index-- > 0;)
      gradient = goBack(index, gradient);
    update();
    llvm::sort(maker.graph.ties);
    return std::move(maker.graph);
  }

private:
  struct Layer {
    ValueId read, made;
    std::optional<ValueId> weight;
  };

  size_t draw(size_t size) { return static_cast<size_t>(random() % size); }

  ValueId drawWeight(size_t index) {
    if (!weights.empty() && draw(3) == 0)
      return weights.front();
    weights.push_back(maker.source("w" + std::to_string(index), {columns, columns}, ValueRole::Parameter));
    return weights.back();
  }

  ValueId drawMask() {
    if (!mask)
      mask = maker.matmul("mask", maker.source("of", {rows, columns}, ValueRole::Parameter),
                          maker.source("by", {columns, columns}, ValueRole::Parameter));
    return *mask;
  }

  /// The gradient of what the layer reads; that of the input is not needed.
  ValueId goBack(size_t index, ValueId gradient) {
    const Layer &layer = layers[index];
    OpId leader = maker.graph.value(layer.made).producer;
    std::string name = "grad" + std::to_string(index);
    TiedOps tie{leader};
    auto tied = [&](ValueId made) {
      tie.push_back(maker.graph.value(made).producer);
      return made;
    };
    if (!layer.weight) {
      gradient = tied(maker.product(name, gradient, mask.value_or(layer.read)));
    } else {
      ValueId own = tied(maker.contraction(name + ".w", layer.read, {"m", "k"}, gradient, {"m", "n"}, {"k", "n"}));
      ofWeights[*layer.weight].push_back(own);
      if (index > 0)
        gradient = tied(maker.contraction(name, gradient, {"m", "n"}, *layer.weight, {"k", "n"}, {"m", "k"}));
    }
    maker.graph.ties.push_back(std::move(tie));
    return gradient;
  }

  void update() {
    for (const auto &[weight, gradients] : ofWeights) {
      ValueId all = gradients.front();
      for (ValueId more : llvm::drop_begin(gradients))
        all = maker.sum("sum of " + maker.graph.value(more).name, all, more);
      ValueId stepped = maker.product("new " + maker.graph.value(weight).name, weight, all);
      maker.graph.values[stepped.index()].replaces = weight;
      maker.sink(stepped);
    }
  }

  std::mt19937_64 &random;
  GraphMaker maker;
  int64_t rows, columns;
  bool isMasked = false;
  std::optional<ValueId> mask;
  std::vector<ValueId> weights;
  std::vector<Layer> layers;
  std::map<ValueId, std::vector<ValueId>> ofWeights;
};

} // namespace

OpGraph randomTrainingStep(std::mt19937_64 &random, size_t maxLayers) { return StepDrawer(random).run(maxLayers); }
OpGraph maskedTrainingStep(std::mt19937_64 &random, size_t maxLayers) {
  return StepDrawer(random).withMask().run(maxLayers);
}

OpGraph randomGraph(std::mt19937_64 &random, size_t maxOps) {
  OpGraph graph = Drawer(random).run(maxOps);
  for (auto [op, atLoad] : llvm::zip_equal(graph.ops, graph.opsAtLoad()))
    op.atLoad = atLoad;
  return graph;
}

std::vector<Strategy> drawTied(const PlanningProblem &planning, std::mt19937_64 &random) {
  Assignment assignment;
  for (size_t node = 0; node < planning.ops.size(); ++node)
    assignment.strategies.push_back(
        static_cast<unsigned>(random() % planning.problem.tableOf(NodeId(node)).costs.size()));
  return planning.decode(assignment);
}

Pool pairOfPairs(double share) {
  Pool pool = llvm::cantFail(withDevices(llvm::cantFail(loadCluster("dgx-a100-80gb")), 16)).pool;
  pool.levels[1].size = 2;
  pool.device.overlappedComputeShare = pool.device.overlappedCommunicationShare = share;
  return pool;
}

Fusion drawFusion(const OpGraph &graph, std::mt19937_64 &random) {
  Fusion fusion;
  fusion.groupBytes = {0, 0};
  for (const GraphValue &value : graph.values) {
    auto group = static_cast<unsigned>(random() % 3);
    fusion.groupOf.push_back(group < 2 ? std::optional(group) : std::nullopt);
    if (group < 2)
      fusion.groupBytes[group] += value.shape.bytes();
  }
  if (random() % 2)
    fusion.mostBytes = int64_t(1) << (10 + random() % 16);
  return fusion;
}

OpGraph stepInMicroBatches(std::mt19937_64 &random, size_t maxLayers, int64_t microBatches) {
  OpGraph graph = randomTrainingStep(random, maxLayers);
  for (GraphOp &op : graph.ops)
    op.repeats = microBatches;
  for (const GraphValue &value : graph.values)
    if (value.replaces)
      graph.ops[value.producer.index()].repeats = 1;
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

PlanningProblem problemOfStrategies(const OpGraph &graph, const CostModel &model, llvm::ArrayRef<Strategy> strategies,
                                    const Fusion &fusion) {
  return buildProblem(
      graph, model, [&](OpId op, const Strategy &strategy) { return strategies[op.index()] == strategy; }, {},
      WeightCopies::Chosen, fusion);
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
    PlanningProblem planning = problemOfStrategies(graph, model, strategies);
    llvm::Expected<SearchResult> result = searchDp(planning.problem, {});
    REQUIRE(bool(result));
    CHECK(result->seconds == Approx(cost->seconds()).epsilon(1e-12));
    checked.numHubs += planning.decodeHubs(result->assignment).size();
    ++checked.numPrograms;
  }
  return checked;
}

} // namespace apc

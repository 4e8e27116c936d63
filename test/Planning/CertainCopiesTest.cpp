// Copies that wait for the backward pass in certain sums, against programs by lot.
#include "RandomGraphs.h"

#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr double rounding = 1e-9;

/// A row for each node by lot, hubs among them.
Assignment drawRows(const PlanningProblem &planning, std::mt19937_64 &random) {
  Assignment assignment;
  for (size_t node = 0; node < planning.ops.size(); ++node)
    assignment.strategies.push_back(random() % planning.choicesOf(NodeId(node)).size());
  return assignment;
}

struct Checked {
  size_t numPrograms = 0, numCounted = 0; ///< of problems: those in which a copy counts
};

bool countsCopies(const PlanningProblem &planning) {
  for (size_t node = 0; node < planning.ops.size(); ++node)
    if (planning.hubs[node])
      for (const StrategyCost &cost : planning.problem.tableOf(NodeId(node)).costs)
        if (cost.persistentBytes > 0)
          return true;
  return false;
}

/// A program fits its own bytes: at each moment, a certain problem under that limit has an answer as fast.
void checkMoments(const OpGraph &graph, const CostModel &model, const PlanningProblem &all, std::mt19937_64 &random,
                  Checked &checked) {
  Assignment drawn = drawRows(all, random);
  std::vector<Strategy> strategies = all.decode(drawn);
  llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model, all.decodeHubs(drawn));
  if (!cost)
    return llvm::consumeError(cost.takeError()); // a value that cannot become partial
  auto keep = [&](OpId op, const Strategy &strategy) { return strategies[op.index()] == strategy; };
  PlanningProblem base = buildProblem(graph, model, keep);
  // A user that wants what is produced reads that, where the sum over hubs may have it continue from the hub.
  if (llvm::cantFail(searchDp(base.problem, {})).seconds > cost->seconds() * (1 + rounding))
    return;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    PlanningProblem planning = atMoment(base, graph, model, WeightCopies::Chosen, Moment{OpId(op), true});
    planning.problem.memoryLimitBytes = cost->memory.total();
    SearchResult least = llvm::cantFail(searchDp(planning.problem, {}));
    INFO("at " << graph.ops[op].name);
    REQUIRE(least.status == SearchStatus::Optimal);
    REQUIRE(least.seconds <= cost->seconds() * (1 + rounding));
    ++checked.numPrograms;
    checked.numCounted += countsCopies(planning);
  }
}

/// y = x . W and dx = dy . W', tied to it, W being cut as it rests; `others` read W apart. W may be the transpose of
/// what rests.
struct Layer {
  GraphMaker maker;
  ValueId w{0};
  OpId between{0};
  Mesh mesh;
  CostModel model;

  explicit Layer(unsigned others, bool isTransposed = false) : model(modelOn(8, mesh)) {
    w = isTransposed ? maker.transpose("w", maker.source("stored", {512, 1024}, ValueRole::Parameter))
                     : maker.source("w", {1024, 512}, ValueRole::Parameter);
    ValueId x = maker.source("x", {64, 1024}, ValueRole::Input);
    ValueId y = maker.matmul("y", x, w);
    ValueId dy = maker.relu("dy", y);
    between = maker.graph.value(dy).producer;
    ValueId dx = maker.contraction("dx", dy, {"m", "n"}, w, {"k", "n"}, {"m", "k"});
    maker.graph.ties = {{maker.graph.value(y).producer, maker.graph.value(dx).producer}};
    maker.sink(dx);
    for (unsigned other = 0; other < others; ++other)
      maker.sink(maker.relu("other" + std::to_string(other), w));
  }

  /// W rests cut, y and dx want it whole.
  PlanningProblem problem(bool isCertain) const {
    auto keep = [&](OpId op, const Strategy &strategy) {
      std::string text = strategy.str(maker.graph.ruleOf(op), mesh);
      return text == (op == maker.graph.value(w).producer ? "d0:" + mesh.axis(AxisId(0)).name : "replicated");
    };
    return buildProblem(maker.graph, model, keep, {}, WeightCopies::Chosen, {}, Moment{between, isCertain});
  }
};

constexpr int64_t whole = 1024 * 512 * 2;

/// The fewest bytes of an answer that brings W once, beside those of the answer that brings it for each pass.
int64_t bytesOfCopy(const Layer &layer, bool isCertain) {
  PlanningProblem planning = layer.problem(isCertain);
  SearchResult once = llvm::cantFail(searchDp(planning.problem, {}));
  planning.problem.memoryLimitBytes = once.bytes - 1;
  llvm::Expected<SearchResult> again = searchDp(planning.problem, {});
  if (!again || again->status != SearchStatus::Optimal)
    return llvm::consumeError(again.takeError()), 0;
  CHECK(again->seconds > once.seconds);
  return once.bytes - again->bytes;
}

} // namespace

TEST_CASE("a copy that two ops of one node read alike counts for certain between them") {
  CHECK(bytesOfCopy(Layer(0), /*isCertain=*/true) == whole);
  CHECK(bytesOfCopy(Layer(1), /*isCertain=*/true) == whole);
  // Two others may share a copy that y and dx do not read: nothing is certain.
  CHECK(bytesOfCopy(Layer(2), /*isCertain=*/true) == 0);
  CHECK(bytesOfCopy(Layer(2), /*isCertain=*/false) == whole);
}

TEST_CASE("certain sums at any moment are no more than what a program needs that is as fast") {
  std::mt19937_64 random(2203);
  Checked checked;
  for (size_t index = 0; index < 150; ++index) {
    OpGraph graph = index % 3 ? randomTrainingStep(random, 3) : stepInMicroBatches(random, 3, 2);
    Mesh mesh;
    CostModel model = modelOn(index % 2 ? 4 : 8, mesh);
    PlanningProblem all = buildProblem(graph, model);
    INFO("graph " << index);
    for (size_t draw = 0; draw < 6; ++draw)
      checkMoments(graph, model, all, random, checked);
  }
  for (bool isTransposed : {false, true})
    for (unsigned others : {0, 1, 2}) {
      Layer layer(others, isTransposed);
      PlanningProblem all = buildProblem(layer.maker.graph, layer.model);
      INFO(others << " others" << (isTransposed ? ", transposed" : ""));
      for (size_t draw = 0; draw < 60; ++draw)
        checkMoments(layer.maker.graph, layer.model, all, random, checked);
    }
  CHECK(checked.numPrograms > 1000);
  CHECK(checked.numCounted > 100);
}

// Strategies that stages take over from others of the same model.
#include "../../../lib/Planning/Pipeline/SameStrategies.h"
#include "../../../lib/Planning/Pipeline/CutStep.h"
#include "../../../lib/Planning/Pipeline/StageAnswers.h"
#include "../GraphMaker.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A stage of so many layers, each a MatMul by a parameter of its own; the backward pass begins with the last layer.
OpGraph stageOf(size_t first, size_t count) {
  GraphMaker maker;
  ValueId x = maker.source("x", {8, 8}, ValueRole::Input);
  std::vector<OpId> forward;
  auto nameOf = [&](size_t layer, llvm::StringRef name) {
    return llvm::formatv("h.{0}/{1}", first + layer, name).str();
  };
  for (size_t layer = 0; layer < count; ++layer) {
    ValueId w = maker.source(nameOf(layer, "w"), {8, 8}, ValueRole::Parameter);
    x = maker.matmul(nameOf(layer, "MatMul"), x, w);
    forward.push_back(maker.graph.value(x).producer);
  }
  for (size_t layer = count; layer-- > 0;) {
    x = maker.relu(nameOf(layer, "MatMul.grad"), x);
    maker.graph.ties.push_back({forward[layer], maker.graph.value(x).producer});
  }
  llvm::sort(maker.graph.ties);
  return std::move(maker.graph);
}

/// The layers' MatMuls are cut over m, n, k, and so on; gradients along with them over their first dim, or not at all.
std::shared_ptr<StageAnswer> answerOf(OpGraph graph) {
  auto answer = std::make_shared<StageAnswer>();
  std::vector<Strategy> strategies;
  for (const GraphOp &op : graph.ops) {
    Strategy strategy;
    strategy.axes.resize(graph.rules[op.rule.index()].numFactors());
    strategies.push_back(strategy);
  }
  for (auto [layer, tie] : llvm::enumerate(graph.ties)) {
    strategies[tie[0].index()].axes[layer % 3] = {AxisId(0)};
    if (layer % 2 == 0)
      strategies[tie[1].index()].axes[0] = {AxisId(0)};
  }
  answer->candidate = Candidate{Mesh({{"x0", 2, 0}}), std::move(strategies), {}};
  answer->graph = std::move(graph);
  return answer;
}

} // namespace

TEST_CASE("Stages of fewer and of more layers take the strategies of the first, the last and those between") {
  StagePatterns patterns;
  CHECK(patterns.front(2) == nullptr);
  std::shared_ptr<StageAnswer> known = answerOf(stageOf(9, 3));
  patterns.add(known);
  for (size_t count : {1u, 2u, 3u, 5u}) {
    const OpGraph graph = stageOf(40, count);
    SameProgram same = patterns.programFor(graph, 2);
    REQUIRE(same.isWhole());
    for (auto [layer, tie] : llvm::enumerate(graph.ties)) {
      INFO("layer " << layer << " of " << count);
      size_t asLayer = layer + 1 == count ? 2 : std::min<size_t>(layer, 1);
      const TiedOps &asTie = known->graph.ties[asLayer];
      for (size_t op : {0, 1})
        CHECK(*same.strategies[tie[op].index()] == known->candidate->strategies[asTie[op].index()]);
    }
  }
}

TEST_CASE("Ops that no stage has, and that are tied otherwise, have no strategy to take over") {
  StagePatterns patterns;
  patterns.add(answerOf(stageOf(0, 3)));
  OpGraph graph = stageOf(0, 2);
  graph.ops[graph.ties[0][0].index()].name = "head/MatMul";
  SameProgram same = patterns.programFor(graph, 2);
  CHECK(!same.isWhole());
  for (OpId op : graph.ties[0])
    CHECK(!same.strategies[op.index()]);
  CHECK(same.strategies[graph.ties[1][0].index()]);
  patterns.add(answerOf(graph)); // the head is known from now on
  CHECK(patterns.programFor(graph, 2).isWhole());
}

TEST_CASE("Stages are alike where names alone differ, and not where ops share kernels otherwise") {
  const OpGraph one = stageOf(0, 3);
  OpGraph other = stageOf(20, 3);
  CHECK(areAlike(one, other));
  other.ops.back().kernel.joins = !other.ops.back().kernel.joins;
  CHECK_FALSE(areAlike(one, other));
  other = stageOf(20, 3);
  other.ops.front().isTransfer = !other.ops.front().isTransfer;
  CHECK_FALSE(areAlike(one, other));
}

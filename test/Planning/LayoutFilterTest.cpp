// Strategies that a layout leaves to ops which know nothing of batch and sequences.
#include "../../lib/Planning/Layout/LayoutFilter.h"
#include "GraphMaker.h"

#include <catch2/catch.hpp>

using namespace apc;

/// dp=2,cp=2,tp=2 on one level of 8 devices.
static std::pair<ParallelDegrees, LayoutMesh> layoutOfEight() {
  Pool pool;
  pool.levels.resize(1);
  pool.levels[0].size = 8;
  ParallelDegrees layout;
  layout.data = layout.context = layout.tensor = 2;
  std::optional<LayoutMesh> own = arrangeLayout(pool, layout);
  REQUIRE(own);
  return {layout, *own};
}

TEST_CASE("what constants alone make may be cut over cp, as a mask is by the queries that are seen through it") {
  GraphMaker maker;
  ValueId x = maker.source("x", {64, 64}, ValueRole::Input);
  ValueId rows = maker.relu("rows", x), mask = maker.relu("mask", x);
  maker.graph.ops.back().operands = {std::nullopt};
  ValueId cast = maker.cast("cast", mask, 32);
  maker.sink(rows);
  maker.sink(cast);
  const auto [layout, own] = layoutOfEight();
  LayoutFilter filter(maker.graph, own, layout, SumsWait::ForAll, /*gathersLogits=*/false);
  // Is a strategy left that cuts the dim over the axes?
  auto mayCut = [&, &own = own](ValueId value, size_t dim, const AxisList &axes) {
    OpId op = maker.graph.value(value).producer;
    return llvm::any_of(enumerateStrategies(maker.graph.ruleOf(op), own.mesh),
                        [&](const Strategy &strategy) { return strategy.axes[dim] == axes && filter(op, strategy); });
  };
  for (ValueId value : {mask, cast})
    for (size_t dim : {0, 1}) {
      CHECK(mayCut(value, dim, own.context));
      CHECK(mayCut(value, dim, {}));
      CHECK_FALSE(mayCut(value, dim, own.data));
    }
  CHECK(mayCut(rows, 0, own.data));
  CHECK_FALSE(mayCut(rows, 0, own.context));
}

TEST_CASE("a sum of gradients that waits for ranks of dp waits for those of cp, too") {
  GraphMaker maker;
  ValueId w = maker.source("w", {64, 64}, ValueRole::Parameter);
  ValueId sum = maker.relu("sum", maker.relu("gradient", maker.source("x", {64, 64}, ValueRole::Input)));
  OpGraph &graph = maker.graph;
  graph.values[sum.index()].role = ValueRole::Gradient;
  ValueId step = maker.relu("step", sum);
  maker.sink(step);
  graph.values[step.index()].replaces = w;
  OpId op = graph.value(sum).producer;
  FactorRule rule = graph.ruleOf(op);
  rule.linear = {{0}};
  graph.rules.push_back(std::move(rule));
  graph.ops[op.index()].rule = RuleId(graph.rules.size() - 1);
  graph.ops[op.index()].accumulates = true;
  graph.ties = {{graph.value(step).producer, op}};
  auto [layout, own] = layoutOfEight();
  auto mayTake = [&](SumsWait sums, int zero, const AxisList &partial) {
    layout.zero = zero;
    LayoutFilter filter(graph, own, layout, sums, /*gathersLogits=*/false);
    Strategy strategy;
    strategy.axes.resize(2);
    strategy.partialInputs = {partial};
    return filter(op, strategy);
  };
  for (int zero : {0, 1}) {
    CHECK(mayTake(SumsWait::ForAll, zero, own.replicas()));
    CHECK_FALSE(mayTake(SumsWait::ForAll, zero, own.data));
    CHECK_FALSE(mayTake(SumsWait::ForAll, zero, own.context));
    CHECK(mayTake(SumsWait::ForSome, zero, own.data));
    CHECK_FALSE(mayTake(SumsWait::ForSome, zero, {}));
    CHECK(mayTake(SumsWait::Free, zero, {}));
  }
  CHECK(mayTake(SumsWait::ForAll, 2, {}));
  CHECK_FALSE(mayTake(SumsWait::ForAll, 2, own.replicas()));
}

TEST_CASE("parameters and states are cut over all ranks of a shard, and over no others of dp and cp") {
  GraphMaker maker;
  ValueId w = maker.source("w", {64, 64}, ValueRole::Parameter);
  ValueId step = maker.relu("step", w);
  maker.sink(step);
  maker.graph.values[step.index()].replaces = w;
  Pool pool;
  pool.levels.resize(1);
  pool.levels[0].size = 8;
  const ParallelDegrees layout{.data = 8, .zero = 3, .shard = 4};
  std::optional<LayoutMesh> own = arrangeLayout(pool, layout);
  REQUIRE(own);
  LayoutFilter filter(maker.graph, *own, layout, SumsWait::Free, /*gathersLogits=*/false);
  const OpId op = maker.graph.value(w).producer;
  size_t allowed = 0;
  for (const Strategy &strategy : enumerateStrategies(maker.graph.ruleOf(op), own->mesh))
    if (filter(op, strategy)) {
      ++allowed;
      CHECK((strategy.axes[0] == own->storage || strategy.axes[1] == own->storage));
    }
  CHECK(allowed == 2);
}

// The cost model on a mesh: spans of axes, what a collective's cost is taken over, local shapes.
#include "apc/Cost/CostModel.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

CostModel makeModel() {
  Pool pool = llvm::cantFail(withDevices(llvm::cantFail(loadCluster("dgx-a100-80gb")), 16)).pool;
  return {pool, Mesh::fromLevels(pool.levelSizes())};
}

Collective makeCollective(CollectiveKind kind, AxisList axes, int64_t input, int64_t output) {
  Collective collective;
  collective.kind = kind;
  collective.axes = std::move(axes);
  collective.inputBytes = input;
  collective.outputBytes = output;
  return collective;
}

FactorRule matMulRule(int64_t m, int64_t n, int64_t k) {
  RuleText text = llvm::cantFail(RuleText::parse("m k, k n -> m n"));
  FactorRule rule =
      llvm::cantFail(text.bind({TensorShape{{m, k}, 16}, TensorShape{{k, n}, 16}}, {TensorShape{{m, n}, 16}}, 2));
  rule.work = Work::Contraction;
  return rule;
}

} // namespace

TEST_CASE("axes of one level are one part of a span, outermost first") {
  CostModel model = makeModel(); // [x0=2 | x1=2, x2=2, x3=2]
  CHECK(model.span({}).size() == 1);
  GroupSpan inside = model.span({AxisId(1), AxisId(3)});
  REQUIRE(inside.parts.size() == 1);
  CHECK(inside.parts[0].level == 1);
  CHECK(inside.parts[0].size == 4);
  GroupSpan both = model.span({AxisId(3), AxisId(0), AxisId(2)});
  REQUIRE(both.parts.size() == 2);
  CHECK(both.parts[0].level == 0);
  CHECK(both.parts[0].size == 2);
  CHECK(both.parts[1].size == 4);
}

TEST_CASE("logarithms of sums take an all-reduce of the greatest ahead of the sum") {
  CostModel model = makeModel();
  AxisList axes{AxisId(0), AxisId(1)};
  Collective reduce = makeCollective(CollectiveKind::AllReduce, axes, 1 << 20, 1 << 20);
  Collective scatter = makeCollective(CollectiveKind::ReduceScatter, axes, 1 << 20, 1 << 18);
  double reduced = model.collectiveSeconds(reduce), scattered = model.collectiveSeconds(scatter);
  reduce.combiner = scatter.combiner = Combiner::LogSumExp;
  CHECK(model.collectiveSeconds(reduce) == 2 * reduced);
  CHECK(model.collectiveSeconds(scatter) == scattered + reduced);
}

TEST_CASE("a collective is costed over its full buffer") {
  CostModel model = makeModel();
  AxisList axes{AxisId(1), AxisId(2), AxisId(3)};
  GroupSpan span = model.span(axes);
  const Pool &pool = model.getPool();
  int64_t mega = 1 << 20;
  CHECK(model.collectiveSeconds(makeCollective(CollectiveKind::AllGather, axes, mega, 8 * mega)) ==
        collectiveSeconds(CollectiveKind::AllGather, span, 8 * mega, pool));
  CHECK(model.collectiveSeconds(makeCollective(CollectiveKind::ReduceScatter, axes, 8 * mega, mega)) ==
        collectiveSeconds(CollectiveKind::ReduceScatter, span, 8 * mega, pool));
  CHECK(model.collectiveSeconds(makeCollective(CollectiveKind::AllReduce, axes, mega, mega)) ==
        collectiveSeconds(CollectiveKind::AllReduce, span, mega, pool));
  CHECK(model.collectiveSeconds(makeCollective(CollectiveKind::AllToAll, axes, mega, mega)) ==
        collectiveSeconds(CollectiveKind::AllToAll, span, mega, pool));
  CHECK(model.collectiveSeconds(makeCollective(CollectiveKind::Permute, axes, mega, mega)) ==
        collectiveSeconds(CollectiveKind::Permute, span, mega, pool));
  CHECK(model.collectiveSeconds(makeCollective(CollectiveKind::Slice, axes, mega, mega / 8)) == 0);
  for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::AllToAll, CollectiveKind::ReduceScatter,
                              CollectiveKind::AllReduce, CollectiveKind::Permute})
    CHECK(model.collectiveSeconds(makeCollective(kind, {AxisId(2)}, 0, 0)) > 0);
}

TEST_CASE("an op is costed on its local piece") {
  CostModel model = makeModel();
  FactorRule rule = matMulRule(1024, 50257, 4096);
  Strategy strategy;
  strategy.axes.resize(3);
  OpCost whole = model.opCost(rule, strategy, NumberFormat::F16);
  CHECK(whole.flops == 2.0 * 1024 * 50257 * 4096);
  // Find the factor n by its size; cut it over the 8 devices of a node.
  for (unsigned i = 0; i < 3; ++i)
    if (rule.factors[i].size == 50257)
      strategy.axes[i] = {AxisId(1), AxisId(2), AxisId(3)};
  OpCost cut = model.opCost(rule, strategy, NumberFormat::F16);
  // Axis by axis: 50257 -> 25129 -> 12565 -> 6283.
  CHECK(cut.flops == 2.0 * 1024 * 6283 * 4096);
  CHECK(cut.bytes == 2 * (1024 * 4096 + 4096 * 6283 + 1024 * 6283));
  CHECK(cut.seconds() < whole.seconds());
  CHECK(model.workspaceBytes(rule) == 4194304);
  rule.work = Work::Stream;
  CHECK(model.workspaceBytes(rule) == 0);
}

TEST_CASE("local bytes are padded") {
  CostModel model = makeModel();
  Sharding sharding = Sharding::replicated(2);
  CHECK(model.localBytes({{10, 3}, 32}, sharding) == 120);
  sharding.dims[0] = {AxisId(0), AxisId(1)};
  CHECK(model.localBytes({{10, 3}, 32}, sharding) == 3 * 3 * 4);
}

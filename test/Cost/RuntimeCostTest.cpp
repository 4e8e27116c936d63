// Runtimes by hand: attention in parts, kernels of several ops, dims in any order.
#include "ByHand.h"

#include "apc/Cost/ApplyRuntime.h"
#include "apc/Cost/GraphCost.h"
#include "apc/Cost/TrainerStep.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr double vectorFlops = 1e12;

/// 8 heads of 64 and 1,024 positions: 8,388,608 scores of 256 FLOPs; of a gradient 2.5 / 3 of them.
FactorRule attention(bool isGradient, bool isCausal = false, int64_t headSize = 64) {
  FactorRuleBuilder builder;
  FactorId heads = builder.addFactor("kv", 8), queries = builder.addFactor("s", 1024);
  FactorId keys = builder.addWhole("t", 1024);
  FactorId size = builder.addWhole("d", headSize), value = builder.addWhole("e", headSize);
  builder.addOperand({{heads}, {queries}, {size}}, 16);
  builder.addOperand({{heads}, {keys}, {size}}, 16);
  builder.addOperand({{heads}, {keys}, {value}}, 16);
  if (isGradient) {
    builder.addOperand({{heads}, {queries}, {value}}, 16);
    builder.addLinear({3});
  }
  builder.addResult({{heads}, {queries}, {value}}, 16);
  builder.setAttention({headSize, 1024, isCausal, /*masked=*/false, {queries}});
  builder.setFlopsPerPoint(isGradient ? 2.5 / 3 / 16 : 1.0 / 16);
  return builder.take();
}

double secondsOf(const FactorRule &rule, const Runtime &runtime) {
  Device device = makeDevice(vectorFlops);
  return opCost(rule, {8, 1024, 1024, 64, 64}, NumberFormat::BF16, device, DeviceRates(device), runtime).computeSeconds;
}

/// Ops of one factor with 2^20 elements.
struct Chain {
  unsigned bits = 32; ///< of an element
  OpGraph graph;
  Cluster cluster = llvm::cantFail(withDevices(llvm::cantFail(loadCluster("cpu-local")), 1));

  std::optional<ValueId> add(llvm::ArrayRef<ValueId> operands, bool hasResult, Work work, double flops) {
    FactorRuleBuilder rule;
    FactorId i = rule.addFactor("i", mebi);
    for (size_t operand = 0; operand < operands.size(); ++operand)
      rule.addOperand({{i}}, bits);
    if (hasResult)
      rule.addResult({{i}}, bits);
    rule.setWork(work);
    rule.setFlopsPerPoint(flops);
    GraphOp op;
    op.name = "op" + std::to_string(graph.ops.size());
    op.rule = RuleId(graph.rules.size());
    op.format = NumberFormat::F32;
    op.operands.assign(operands.begin(), operands.end());
    std::optional<ValueId> result;
    if (hasResult) {
      result = ValueId(graph.values.size());
      graph.values.push_back({op.name, TensorShape{{mebi}, bits}, ValueRole::Activation, OpId(graph.ops.size()), 0});
      op.results = {result};
    }
    graph.rules.push_back(rule.take());
    graph.ops.push_back(std::move(op));
    return result;
  }

  std::vector<OpCost> costs() {
    CostModel model(cluster.pool, Mesh::fromLevels(cluster.pool.levelSizes()));
    std::vector<OpCost> costs;
    Strategy whole;
    whole.axes.resize(1);
    for (size_t op = 0; op < graph.ops.size(); ++op)
      costs.push_back(costOfOp(graph, OpId(op), whole, model));
    return costs;
  }
};

Runtime fusing() {
  Runtime runtime;
  runtime.fusesElementwise = true;
  return runtime;
}

} // namespace

TEST_CASE("an attention in parts streams its scores") {
  Runtime runtime;
  runtime.fusesAttention = false;
  runtime.scoreForwardBytes = 9;
  runtime.scoreBackwardBytes = 11;
  // Products at 64 / 96 of the peak take 32.2 us, their 4 bytes a score 33.6 us; 9 bytes a score 75.5 us.
  CHECK(secondsOf(attention(/*isGradient=*/false), runtime) == Approx(3.2212255e-5 + 3.3554432e-5 + 7.5497472e-5));
  // One of three gradients: products 26.8 us, their 8 / 3 bytes 22.4 us; 11 / 3 bytes 30.8 us.
  CHECK(secondsOf(attention(/*isGradient=*/true), runtime) == Approx(2.68435456e-5 + 2.2369621e-5 + 3.0758229e-5));
}

TEST_CASE("products of an attention in parts run on vector units where heads do not start at whole loads") {
  Runtime runtime;
  runtime.fusesAttention = false;
  auto secondsOfHeads = [&](int64_t size) {
    Device device = makeDevice(vectorFlops);
    FactorRule rule = attention(/*isGradient=*/false, /*isCausal=*/false, size);
    return opCost(rule, {8, 1024, 1024, size, size}, NumberFormat::BF16, device, DeviceRates(device), runtime)
        .computeSeconds;
  };
  double scores = 3.3554432e-5; // seconds of their bytes; the rule has as many as its FLOPs are
  double products = secondsOfHeads(64) - scores, unaligned = secondsOfHeads(60) - scores * 60 / 64;
  // 64 steps of k either way; loads that are not whole have 0.7 of the speed, vector units a hundredth.
  CHECK(unaligned / products == Approx(60.0 / 64 * 60.0 / 64 * 100 / 0.7));
  CHECK(secondsOfHeads(72) < 2 * secondsOfHeads(64));
}

TEST_CASE("sums of gradients have the bits of their runtime") {
  for (NumberFormat format : {NumberFormat::F16, NumberFormat::BF16}) {
    OpGraph graph;
    auto rule = [](unsigned from, unsigned to) {
      FactorRuleBuilder builder;
      FactorId i = builder.addFactor("i", mebi);
      from > 0 ? builder.addOperand({{i}}, from) : void();
      builder.addResult({{i}}, to);
      return builder.take();
    };
    graph.rules = {rule(0, 16), rule(16, 32), rule(32, 32)};
    for (unsigned op = 0; op < 3; ++op) {
      GraphOp &own = graph.ops.emplace_back();
      own.rule = RuleId(op);
      own.format = format;
      own.results = {ValueId(op)};
      if (op > 0)
        own.operands = {ValueId(op - 1)};
      graph.values.push_back({"v", TensorShape{{mebi}, op == 0 ? 16U : 32U}, ValueRole::Gradient, OpId(op), 0});
    }
    graph.ops[1].accumulates = true;
    Runtime runtime;
    runtime.fp16GradientSumBytes = 2;
    applyRuntime(graph, runtime);
    CHECK(graph.values[1].shape.elementBits == 32); // a program holds its own
    narrowSums(graph, runtime);
    const unsigned bits = format == NumberFormat::F16 ? 16 : 32;
    CHECK(graph.values[1].shape.elementBits == bits);
    CHECK(graph.ruleOf(OpId(1)).results[0].elementBits == bits);
    CHECK(graph.ruleOf(OpId(2)).operands[0].elementBits == bits);
    CHECK(graph.ruleOf(OpId(2)).results[0].elementBits == 32);
    runtime.gradientSumBytes = 2;
    narrowSums(graph, runtime);
    CHECK(graph.values[1].shape.elementBits == 16);
    CHECK(graph.values[2].shape.elementBits == 32);
    CHECK(graph.values[1].exchanged() == graph.values[1].shape);
    runtime.gradientExchangeBytes = 8;
    narrowSums(graph, runtime);
    CHECK(graph.values[1].shape.elementBits == 16);
    CHECK(graph.values[1].exchanged() == TensorShape{{mebi}, 64});
    CHECK(graph.values[2].exchanged() == graph.values[2].shape);
  }
}

TEST_CASE("logits are made and exchanged again where a trainer computes them again") {
  Chain chain;
  chain.bits = 16;
  auto add = [&](Work work, llvm::ArrayRef<ValueId> operands) { return *chain.add(operands, true, work, 2); };
  ValueId rows = add(Work::View, {}), weight = add(Work::View, {});
  ValueId layer = add(Work::Contraction, {rows, weight}), logits = add(Work::Contraction, {layer, weight});
  ValueId loss = add(Work::Stream, {logits});
  chain.add({loss}, false, Work::View, 2);
  add(Work::Stream, {weight}); // the next weight
  OpGraph &graph = chain.graph;
  graph.values[1].role = ValueRole::Parameter;
  graph.values[5].replaces = ValueId(1);
  Runtime runtime;
  runProductsAgain(graph, runtime);
  CHECK(graph.ruleOf(OpId(3)).flopsPerPoint == 2);
  runtime.recomputesLogits = true;
  runProductsAgain(graph, runtime);
  CHECK(graph.ruleOf(OpId(2)).flopsPerPoint == 2);
  CHECK(graph.ruleOf(OpId(3)).flopsPerPoint == 4);
  CHECK(graph.values[2].exchanged() == graph.values[2].shape);
  CHECK(graph.values[3].exchanged() == TensorShape{{mebi}, 32});
}

TEST_CASE("products that end a recomputed layer are made again where a trainer runs it whole") {
  Chain chain;
  chain.bits = 16;
  auto add = [&](Work work, llvm::ArrayRef<ValueId> operands) { return *chain.add(operands, true, work, 2); };
  OpGraph &graph = chain.graph;
  ValueId rows = add(Work::View, {}), weight = add(Work::View, {});
  ValueId inner = add(Work::Stream, {rows});
  for (int64_t last = 0; last < 2; ++last)
    add(Work::Contraction, {inner, weight}); // ops 3 and 4
  graph.ops[4].rule = graph.ops[3].rule;
  add(Work::Contraction, {rows, weight}); // reads nothing that is made again
  add(Work::Stream, {rows});              // `inner` again
  graph.ops[6].rule = graph.ops[2].rule;
  graph.ties = {{OpId(2), OpId(6)}};
  Runtime runtime;
  runProductsAgain(graph, runtime);
  CHECK(graph.ruleOf(OpId(3)).flopsPerPoint == 2);
  runtime.recomputesLastProducts = true;
  runProductsAgain(graph, runtime);
  CHECK(graph.ruleOf(OpId(3)).flopsPerPoint == 4);
  CHECK(graph.op(OpId(4)).rule == graph.op(OpId(3)).rule); // layers stay equal
  CHECK(graph.values[3].exchanged() == TensorShape{{mebi}, 32});
  CHECK(graph.ruleOf(OpId(5)).flopsPerPoint == 2);
  CHECK(graph.ruleOf(OpId(2)).flopsPerPoint == 2);
}

TEST_CASE("kernels of an attention have a share of the device's speed") {
  Runtime half;
  half.attentionShare = 0.5;
  CHECK(secondsOf(attention(false), half) == Approx(2 * secondsOf(attention(false), Runtime())));
}

TEST_CASE("a host that waits for kernels adds its time to each of them") {
  Device device = makeDevice(vectorFlops);
  Runtime ahead;
  ahead.dispatchSeconds = 8e-5;
  Runtime waiting = ahead;
  waiting.waitsForKernels = true;
  auto secondsWith = [&](const Runtime &runtime) {
    return opCost(attention(/*isGradient=*/false), {8, 1024, 1024, 64, 64}, NumberFormat::BF16, device,
                  DeviceRates(device), runtime)
        .seconds();
  };
  CHECK(secondsWith(ahead) == secondsWith(Runtime()));
  CHECK(secondsWith(waiting) == Approx(secondsWith(ahead) + 8e-5));
}

TEST_CASE("half of the scores under a causal mask are skipped where the runtime can") {
  Runtime all;
  all.skipsMaskedKeys = false;
  double best = 2147483648 / (0.72 * 1e14);
  CHECK(secondsOf(attention(false, /*isCausal=*/true), Runtime()) == Approx(best * (1 + 500.0 / 1024) / 2));
  CHECK(secondsOf(attention(false, /*isCausal=*/true), all) == Approx(best * (1 + 100.0 / 1024)));
}

TEST_CASE("values inside a kernel move no bytes") {
  Chain chain;
  ValueId x = *chain.add({}, true, Work::Stream, 0);
  ValueId a = *chain.add({x}, true, Work::Stream, 1);
  ValueId b = *chain.add({a}, true, Work::Stream, 1);
  chain.add({b}, false, Work::Stream, 0);
  CHECK(chain.costs()[1].bytes == 8 * mebi);
  applyRuntime(chain.graph, fusing());
  std::vector<OpCost> costs = chain.costs();
  CHECK(costs[1].bytes == 4 * mebi); // reads x
  CHECK(costs[2].bytes == 4 * mebi); // writes b
  CHECK(costs[1].launchSeconds > 0);
  CHECK(costs[2].launchSeconds == 0);
}

TEST_CASE("a product adds what it makes to the sum over micro-batches where the runtime fuses sums") {
  Chain chain;
  ValueId x = *chain.add({}, true, Work::Stream, 0);
  ValueId made = *chain.add({x}, true, Work::Contraction, 2);
  ValueId wide = *chain.add({made}, true, Work::Stream, 0);
  chain.add({wide}, true, Work::Stream, 1);
  ValueId other = *chain.add({x}, true, Work::Stream, 1); // the gradient of a bias
  chain.add({other}, true, Work::Stream, 1);
  for (size_t sum : {3, 5})
    chain.graph.ops[sum].accumulates = true;
  Runtime runtime;
  applyRuntime(chain.graph, runtime);
  CHECK(chain.costs()[3].bytes == 8 * mebi);
  runtime.fusesSums = true;
  applyRuntime(chain.graph, runtime);
  std::vector<OpCost> costs = chain.costs();
  for (size_t joined : {2, 3}) {
    CHECK(costs[joined].bytes == 0);
    CHECK(costs[joined].launchSeconds == 0);
  }
  CHECK(costs[1].bytes == 8 * mebi);
  CHECK(costs[5].bytes == 8 * mebi);
  chain.add({made}, true, Work::Stream, 1); // something else reads the product
  applyRuntime(chain.graph, runtime);
  CHECK(chain.costs()[3].bytes == 8 * mebi);
}

TEST_CASE("a value that is read outside its kernel is written") {
  Chain chain;
  ValueId x = *chain.add({}, true, Work::Stream, 0);
  ValueId a = *chain.add({x}, true, Work::Stream, 1);
  ValueId c = *chain.add({a}, true, Work::Contraction, 2);
  ValueId b = *chain.add({a, c}, true, Work::Stream, 1);
  chain.add({b}, false, Work::Stream, 0);
  applyRuntime(chain.graph, fusing());
  // The contraction waits for a, and b for the contraction: two kernels.
  CHECK(!chain.graph.ops[3].kernel.joins);
  CHECK(chain.costs()[1].bytes == 8 * mebi);
}

TEST_CASE("contractions read through transpositions") {
  Chain chain;
  ValueId x = *chain.add({}, true, Work::Stream, 0);
  ValueId t = *chain.add({x}, true, Work::Stream, 0);
  ValueId y = *chain.add({t}, true, Work::Contraction, 2);
  chain.add({y}, false, Work::Stream, 0);
  CHECK(chain.costs()[1].seconds() > 0);
  Runtime runtime;
  runtime.readsTransposed = true;
  applyRuntime(chain.graph, runtime);
  CHECK(chain.costs()[1].seconds() == 0);
  CHECK(chain.costs()[2].seconds() > 0);
}

TEST_CASE("transpositions for elementwise ops are work of their own") {
  Chain chain;
  ValueId x = *chain.add({}, true, Work::Stream, 0);
  ValueId t = *chain.add({x}, true, Work::Stream, 0);
  ValueId y = *chain.add({t}, true, Work::Stream, 1);
  chain.add({y}, false, Work::Stream, 0);
  Runtime runtime;
  runtime.readsTransposed = true;
  applyRuntime(chain.graph, runtime);
  CHECK(chain.costs()[1].seconds() > 0);
}

TEST_CASE("squares of gradients are launched for lists of tensors") {
  for (ValueRole role : {ValueRole::Gradient, ValueRole::Activation}) {
    OpGraph graph;
    FactorRuleBuilder source, square;
    source.addResult({{source.addFactor("i", mebi)}}, 32);
    square.addOperand({{square.addReduction("i", mebi, Combiner::Sum)}}, 32);
    square.addResult({}, 32);
    graph.rules = {source.take(), square.take()};
    graph.values = {{"gradient", TensorShape{{mebi}, 32}, role, OpId(0), 0},
                    {"square", TensorShape{{}, 32}, ValueRole::Activation, OpId(1), 0}};
    graph.ops.resize(2);
    for (size_t op = 0; op < 2; ++op) {
      graph.ops[op].rule = RuleId(op);
      graph.ops[op].results = {ValueId(op)};
    }
    graph.ops[1].operands = {ValueId(0), std::nullopt}; // dims are constants
    applyRuntime(graph, Runtime());
    CHECK(graph.ops[1].kernel.isOfList == (role == ValueRole::Gradient));
    CHECK(!graph.ops[0].kernel.isOfList);
  }
}

TEST_CASE("a normalisation op by op is several passes and kernels") {
  Chain chain;
  ValueId x = *chain.add({}, true, Work::Stream, 0);
  ValueId y = *chain.add({x}, true, Work::Stream, 1);
  chain.add({y}, false, Work::Stream, 0);
  chain.cluster.pool.runtime.dispatchSeconds = 1e-5;
  OpCost one = chain.costs()[1];
  REQUIRE(one.launchSeconds > 0);
  chain.graph.ops[1].kernel.isNormalization = true;
  chain.cluster.pool.runtime.normalizationPasses = 6;
  chain.cluster.pool.runtime.normalizationKernels = 8;
  OpCost several = chain.costs()[1];
  CHECK(several.memorySeconds == Approx(6 * one.memorySeconds));
  CHECK(several.launchSeconds == Approx(8 * one.launchSeconds));
  CHECK(several.dispatchSeconds == Approx(8 * one.dispatchSeconds));
}

TEST_CASE("a loss over classes takes the passes of its runtime, a softmax does not") {
  for (bool hasLabels : {true, false}) {
    OpGraph graph;
    auto add = [&](FactorRule rule, llvm::ArrayRef<ValueId> operands, const TensorShape &shape) {
      GraphOp op;
      op.name = "op" + std::to_string(graph.ops.size());
      op.rule = RuleId(graph.rules.size());
      op.format = NumberFormat::F32;
      op.operands.assign(operands.begin(), operands.end());
      ValueId result(graph.values.size());
      graph.values.push_back({op.name, shape, ValueRole::Activation, OpId(graph.ops.size()), 0});
      op.results = {result};
      graph.rules.push_back(std::move(rule));
      graph.ops.push_back(std::move(op));
      return result;
    };
    auto rule = [&](int operands, bool sums) {
      FactorRuleBuilder builder;
      FactorId rows = builder.addFactor("n", 1024);
      FactorId classes = sums ? builder.addReduction("c", 1024, Combiner::LogSumExp) : builder.addFactor("c", 1024);
      for (int operand = 0; operand < operands; ++operand)
        operand == 0 ? builder.addOperand({{rows}, {classes}}, 32) : builder.addOperand({{rows}}, 32);
      sums ? builder.addResult({{rows}}, 32) : builder.addResult({{rows}, {classes}}, 32);
      builder.setFlopsPerPoint(1);
      return builder.take();
    };
    ValueId scores = add(rule(0, false), {}, {{1024, 1024}, 32});
    ValueId sums = add(rule(1, true), {scores}, {{1024}, 32});
    std::vector<ValueId> read = {scores, sums};
    if (hasLabels)
      read.push_back(sums);
    add(rule(static_cast<int>(read.size()), false), read, {{1024, 1024}, 32});
    Pool pool = llvm::cantFail(withDevices(llvm::cantFail(loadCluster("cpu-local")), 1)).pool;
    Strategy whole;
    whole.axes.resize(2);
    auto memorySeconds = [&](size_t op) {
      CostModel model(pool, Mesh::fromLevels(pool.levelSizes()));
      return costOfOp(graph, OpId(op), whole, model).memorySeconds;
    };
    double sumsAlone = memorySeconds(1), readAlone = memorySeconds(2);
    pool.runtime.lossPasses = 3;
    applyRuntime(graph, pool.runtime);
    CHECK(memorySeconds(1) == Approx((hasLabels ? 3 : 1) * sumsAlone));
    CHECK(memorySeconds(2) == Approx((hasLabels ? 3 : 1) * readAlone));
  }
}

TEST_CASE("collectives inside steps have a share of their speed alone") {
  Pool pool = llvm::cantFail(withDevices(llvm::cantFail(loadCluster("dgx-a100-80gb")), 8)).pool;
  Mesh mesh = Mesh::fromLevels(pool.levelSizes());
  Collective collective;
  collective.kind = CollectiveKind::AllReduce;
  collective.axes = {AxisId(mesh.getAxes().size() - 1)};
  collective.inputBytes = collective.outputBytes = 64 * mebi;
  double alone = CostModel(pool, mesh).collectiveSeconds(collective);
  pool.runtime.collectiveShare = 0.5;
  CHECK(CostModel(pool, mesh).collectiveSeconds(collective) == Approx(2 * alone));
}

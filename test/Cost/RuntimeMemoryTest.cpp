// Memory of runtimes by hand: scores of attentions in parts, losses, sums of gradients, normalisations, fragments.
#include "ByHand.h"

#include "apc/Cost/ApplyRuntime.h"
#include "apc/Cost/GraphCost.h"
#include "apc/Cost/TrainerStep.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Ops on one device.
struct DeviceOps {
  OpGraph graph;
  Pool pool = llvm::cantFail(withDevices(llvm::cantFail(loadCluster("cpu-local")), 1)).pool;

  ValueId add(FactorRule rule, llvm::ArrayRef<ValueId> operands, const TensorShape &shape) {
    GraphOp op;
    op.name = "op" + std::to_string(graph.ops.size());
    op.rule = RuleId(graph.rules.size());
    op.format = NumberFormat::BF16;
    op.operands.assign(operands.begin(), operands.end());
    ValueId result(graph.values.size());
    if (!rule.results.empty()) {
      graph.values.push_back({op.name, shape, ValueRole::Activation, OpId(graph.ops.size()), 0});
      op.results = {result};
    }
    graph.rules.push_back(std::move(rule));
    graph.ops.push_back(std::move(op));
    return result;
  }

  MemoryTable memory(const Runtime &runtime) const {
    OpGraph own = graph;
    applyRuntime(own, runtime);
    Pool ownPool = pool;
    ownPool.runtime = runtime;
    std::vector<Strategy> strategies;
    for (size_t op = 0; op < own.ops.size(); ++op) {
      const FactorRule &rule = own.ruleOf(OpId(op));
      strategies.emplace_back().axes.resize(rule.factors.size());
      strategies.back().partialInputs.resize(rule.linear.size());
    }
    CostModel model(ownPool, Mesh::fromLevels(ownPool.levelSizes()));
    llvm::Expected<GraphCost> cost = costOfGraph(own, strategies, model);
    if (!cost)
      FAIL(llvm::toString(cost.takeError()));
    return cost->memory;
  }
};

/// Rows of 1,024 numbers: `widths` has the bits of each operand, then of the result; 0 for no result.
FactorRule rows(std::vector<unsigned> widths) {
  FactorRuleBuilder builder;
  FactorId n = builder.addFactor("n", 1024), c = builder.addFactor("c", 1024);
  for (size_t operand = 0; operand + 1 < widths.size(); ++operand)
    builder.addOperand({{n}, {c}}, widths[operand]);
  if (widths.back() > 0)
    builder.addResult({{n}, {c}}, widths.back());
  builder.setFlopsPerPoint(1);
  return builder.take();
}

const TensorShape narrow{{1024, 1024}, 16}, wide{{1024, 1024}, 32};

const TensorShape heads{{8, 1024, 64}, 16};
constexpr int64_t numScores = 8 * mebi;

FactorRule headRule(int operands, bool hasResult, bool isAttention) {
  FactorRuleBuilder builder;
  FactorId head = builder.addFactor("kv", 8), queries = builder.addFactor("s", 1024);
  FactorId size = builder.addWhole("d", 64);
  for (int operand = 0; operand < operands; ++operand)
    builder.addOperand({{head}, {queries}, {size}}, 16);
  if (hasResult)
    builder.addResult({{head}, {queries}, {size}}, 16);
  if (isAttention)
    builder.setAttention({64, 1024, /*causal=*/false, /*masked=*/false, {queries}});
  constexpr double flopsOfScore = 4; // and element of a head
  if (isAttention)
    builder.setFlopsPerPoint(operands > 3 ? 2.5 / 3 * flopsOfScore * 1024 : flopsOfScore * 1024);
  if (operands > 3)
    builder.addLinear({3});
  return builder.take();
}

/// q, k, v; an attention, as often as `times`; a gradient behind each but for the last, which has one in front, too.
DeviceOps attentionStep(int times) {
  DeviceOps step;
  std::vector<ValueId> qkv;
  for (int source = 0; source < 3; ++source)
    qkv.push_back(step.add(headRule(0, true, false), {}, heads));
  ValueId y = step.add(headRule(3, true, true), qkv, heads);
  std::vector<ValueId> read = qkv;
  read.push_back(y);
  ValueId first = times > 1 ? step.add(headRule(4, true, true), read, heads) : y;
  if (times > 1)
    y = step.add(headRule(3, true, true), qkv, heads);
  ValueId last = step.add(headRule(4, true, true), {qkv[0], qkv[1], qkv[2], y}, heads);
  step.add(headRule(2, false, false), {first, last}, heads);
  return step;
}

Runtime inParts() {
  Runtime runtime;
  runtime.fusesAttention = false;
  return runtime;
}

} // namespace

TEST_CASE("an attention in parts keeps its scores for its gradients") {
  Runtime runtime = inParts();
  MemoryTable none = attentionStep(1).memory(runtime);
  runtime.scoreKeptBytes = 6;
  runtime.scoreWorkBytes = 8;
  MemoryTable kept = attentionStep(1).memory(runtime);
  CHECK(kept[MemoryCategory::Activations] - none[MemoryCategory::Activations] == 6 * numScores);
  CHECK(kept[MemoryCategory::Workspace] - none[MemoryCategory::Workspace] == 8 * numScores);
  runtime.fusesAttention = true;
  CHECK(attentionStep(1).memory(runtime) == attentionStep(1).memory(Runtime()));
  runtime.attentionKeptBytes = 4; // for each element of its result of 2 bytes
  MemoryTable beside = attentionStep(1).memory(runtime), fused = attentionStep(1).memory(Runtime());
  CHECK(beside[MemoryCategory::Activations] - fused[MemoryCategory::Activations] == 4 * 8 * 1024 * 64);
  runtime.rotationKeptBytes = 8; // for each position and element of one head
  CHECK((attentionStep(1).memory(runtime).total() - beside.total()) == 8 * 1024 * 64);
}

TEST_CASE("a fused attention knows a causal mask, which nothing holds then") {
  const TensorShape places{{1024, 1024}, 16};
  // From places of a parameter to a mask, and to an attention that reads it; queries are a learned parameter's.
  auto stepOf = [&](bool isCausal, bool isOfParameter, unsigned bits = 8) {
    const TensorShape mask{{1024, 1024}, bits};
    DeviceOps step;
    std::vector<ValueId> read;
    for (int source = 0; source < 3; ++source)
      read.push_back(step.add(headRule(0, true, false), {}, heads));
    step.graph.values[read[0].index()].role = ValueRole::Parameter;
    read[0] = step.add(headRule(1, true, false), {read[0]}, heads);
    ValueId from = step.add(rows({16}), {}, places);
    if (isOfParameter)
      step.graph.values[from.index()].role = ValueRole::Parameter;
    read.push_back(step.add(rows({16, bits}), {from}, mask));
    FactorRuleBuilder builder;
    FactorId head = builder.addFactor("kv", 8), queries = builder.addFactor("s", 1024),
             keys = builder.addFactor("k", 1024);
    FactorId size = builder.addWhole("d", 64);
    for (int operand = 0; operand < 3; ++operand)
      builder.addOperand({{head}, {operand == 0 ? queries : keys}, {size}}, 16);
    builder.addOperand({{queries}, {keys}}, bits);
    builder.addResult({{head}, {queries}, {size}}, 16);
    constexpr unsigned maskOperand = 3;
    std::optional<unsigned> known = isCausal ? std::optional(maskOperand) : std::nullopt;
    builder.setAttention({64, 1024, isCausal, /*masked=*/!isCausal, {queries}, known});
    ValueId y = step.add(builder.take(), read, heads);
    step.add(headRule(1, false, false), {y}, heads);
    return step;
  };
  auto bytesOf = [&](const Runtime &runtime, bool isCausal, bool isOfParameter) {
    return stepOf(isCausal, isOfParameter).memory(runtime).total();
  };
  const Runtime fused;
  CHECK(bytesOf(fused, false, true) - bytesOf(fused, true, true) == mebi);
  CHECK(bytesOf(inParts(), false, true) == bytesOf(inParts(), true, true));
  CHECK(bytesOf(fused, false, false) == bytesOf(fused, true, false)); // a mask of the batch's own is read
  // Floats that are added are known as bools are.
  CHECK(stepOf(false, true, 16).memory(fused).total() - stepOf(true, true, 16).memory(fused).total() == 2 * mebi);
  OpGraph graph = stepOf(true, true).graph;
  applyRuntime(graph, fused);
  std::vector<size_t> left;
  for (auto [index, op] : llvm::enumerate(graph.ops))
    if (op.kernel.isMadeByReaders)
      left.push_back(index);
  CHECK(left == std::vector<size_t>{5}); // the mask, not the queries
}

TEST_CASE("an attention of several sequences keeps bytes of its own") {
  auto keptOf = [](int64_t sequences) {
    auto rule = [&](int operands, bool hasResult) {
      FactorRuleBuilder builder;
      FactorId b = builder.addFactor("b", sequences), head = builder.addFactor("kv", 8);
      FactorId queries = builder.addFactor("s", 1024), size = builder.addWhole("d", 64);
      for (int operand = 0; operand < operands; ++operand)
        builder.addOperand({{b}, {head}, {queries}, {size}}, 16);
      if (hasResult)
        builder.addResult({{b}, {head}, {queries}, {size}}, 16);
      if (operands >= 3)
        builder.setAttention({64, 1024, /*causal=*/false, /*masked=*/false, {queries}});
      builder.setFlopsPerPoint(operands > 3 ? 2.5 / 3 * 4 * 1024 : 4 * 1024);
      if (operands > 3)
        builder.addLinear({3});
      return builder.take();
    };
    const TensorShape shape{{sequences, 8, 1024, 64}, 16};
    DeviceOps step;
    std::vector<ValueId> read;
    for (int source = 0; source < 3; ++source)
      read.push_back(step.add(rule(0, true), {}, shape));
    read.push_back(step.add(rule(3, true), read, shape));
    ValueId gradient = step.add(rule(4, true), read, shape);
    step.add(rule(1, false), {gradient}, shape);
    Runtime runtime;
    runtime.attentionKeptBytes = 4;
    runtime.batchedKeptBytes = 6;
    return step.memory(runtime).total() - step.memory(Runtime()).total();
  };
  CHECK(keptOf(1) == 4 * 8 * 1024 * 64);
  CHECK(keptOf(2) == 2 * 6 * 8 * 1024 * 64);
}

TEST_CASE("an attention that is computed again keeps its scores from then on, whatever gradient comes first") {
  Runtime runtime = inParts();
  MemoryTable none = attentionStep(2).memory(runtime);
  runtime.scoreKeptBytes = 6;
  MemoryTable kept = attentionStep(2).memory(runtime);
  CHECK(kept[MemoryCategory::Activations] - none[MemoryCategory::Activations] == 6 * numScores);
}

TEST_CASE("a loss holds bytes for each score beside the program, and one that is fused makes no copies") {
  DeviceOps step;
  ValueId scores = step.add(rows({16}), {}, narrow);
  ValueId copy = step.add(rows({16, 32}), {scores}, wide);
  FactorRuleBuilder builder;
  FactorId n = builder.addFactor("n", 1024), c = builder.addReduction("c", 1024, Combiner::LogSumExp);
  builder.addOperand({{n}, {c}}, 32);
  builder.addResult({{n}}, 32);
  builder.setFlopsPerPoint(1);
  ValueId sums = step.add(builder.take(), {copy}, {{1024}, 32});
  FactorRuleBuilder gradient;
  n = gradient.addFactor("n", 1024), c = gradient.addFactor("c", 1024);
  gradient.addOperand({{n}, {c}}, 32);
  gradient.addOperand({{n}}, 32);
  gradient.addOperand({{n}}, 32);
  gradient.addResult({{n}, {c}}, 32);
  gradient.setFlopsPerPoint(1);
  ValueId made = step.add(gradient.take(), {copy, sums, sums}, wide);
  ValueId sent = step.add(rows({32, 16}), {made}, narrow);
  step.add(rows({16, 16, 0}), {sent, scores}, narrow);

  int64_t plain = step.memory(Runtime())[MemoryCategory::Activations];
  CHECK(plain == 10 * mebi + 4096); // scores, copy, gradient, sums
  Runtime runtime;
  runtime.lossBytes = 8;
  CHECK(step.memory(runtime)[MemoryCategory::Activations] == plain + 8 * mebi);
  runtime.lossBytes = 4;
  runtime.stayingScoreBytes = 2; // of this micro-batch and the one before
  CHECK(step.memory(runtime)[MemoryCategory::Activations] == plain + 8 * mebi);
  Runtime overwriting;
  overwriting.overwritesScores = true;
  CHECK(step.memory(overwriting)[MemoryCategory::Activations] == 6 * mebi + 4096); // scores, copy, sums
  Runtime fusing;
  fusing.fusesLoss = true;
  CHECK(step.memory(fusing)[MemoryCategory::Activations] == 4 * mebi); // scores and the gradient that is sent
}

TEST_CASE("gradients add up in the bytes of their runtime") {
  DeviceOps step;
  ValueId x = step.add(rows({16}), {}, narrow);
  ValueId sum = step.add(rows({16, 32}), {x}, wide);
  step.graph.values[sum.index()].role = ValueRole::Gradient;
  step.graph.ops[1].accumulates = true;
  step.add(rows({32, 0}), {sum}, wide);
  CHECK(step.memory(Runtime())[MemoryCategory::Gradients] == 4 * mebi);
  Runtime runtime;
  runtime.gradientSumBytes = 2;
  CHECK(step.memory(runtime)[MemoryCategory::Gradients] == 4 * mebi); // the program's
  narrowSums(step.graph, runtime);
  CHECK(step.memory(runtime)[MemoryCategory::Gradients] == 2 * mebi);
  step.graph.ops[1].format = NumberFormat::F16;
  runtime.fp16GradientHeldBytes = 4; // with copies
  CHECK(step.memory(runtime)[MemoryCategory::Gradients] == 4 * mebi);
}

TEST_CASE("gradients are there before they are made where the runtime keeps them from step to step") {
  DeviceOps step;
  ValueId x = step.add(rows({32}), {}, wide);
  ValueId y = step.add(rows({32, 32}), {x}, wide);
  ValueId gradient = step.add(rows({32, 16}), {y}, narrow);
  step.graph.values[gradient.index()].role = ValueRole::Gradient;
  step.add(rows({16, 0}), {gradient}, narrow);
  CHECK(step.memory(Runtime()).total() == 8 * mebi); // x and y
  Runtime runtime;
  runtime.keepsGradients = true;
  CHECK(step.memory(runtime).total() == 10 * mebi);
  CHECK(step.memory(runtime)[MemoryCategory::Gradients] == 2 * mebi);
}

TEST_CASE("activations fill a share of what is taken for them") {
  DeviceOps step;
  ValueId x = step.add(rows({16}), {}, narrow);
  step.add(rows({16, 0}), {x}, narrow);
  CHECK(step.memory(Runtime())[MemoryCategory::Activations] == 2 * mebi);
  Runtime runtime;
  runtime.allocatorShare = 0.5;
  MemoryTable taken = step.memory(runtime);
  CHECK(taken[MemoryCategory::Activations] == 2 * mebi);
  CHECK(taken[MemoryCategory::Runtime] == 2 * mebi);
  CHECK(taken.total() == step.memory(Runtime()).total() + 2 * mebi);
}

TEST_CASE("blocks that are cached are more than what is alive") {
  DeviceOps step;
  ValueId x = step.add(rows({16}), {}, narrow);
  step.add(rows({16, 0}), {x}, narrow);
  Runtime runtime;
  runtime.cachesBlocks = true;
  MemoryTable taken = step.memory(runtime);
  CHECK(taken[MemoryCategory::Activations] == 2 * mebi);
  CHECK(taken.total() == 20 * mebi); // a segment
}

TEST_CASE("a normalisation op by op keeps its rows beside what it makes") {
  FactorRuleBuilder builder;
  FactorId n = builder.addFactor("n", 1024), c = builder.addWhole("c", 1024);
  builder.addOperand({{n}, {c}}, 16);
  builder.addOperand({{c}}, 16);
  builder.addResult({{n}, {c}}, 16);
  builder.setFlopsPerPoint(1);
  FactorRuleBuilder weight;
  weight.addResult({{weight.addFactor("c", 1024)}}, 16);
  DeviceOps step;
  ValueId x = step.add(rows({16}), {}, narrow);
  ValueId scale = step.add(weight.take(), {}, {{1024}, 16});
  ValueId y = step.add(builder.take(), {x, scale}, narrow);
  step.add(rows({16, 16, 0}), {x, y}, narrow);
  int64_t plain = step.memory(Runtime())[MemoryCategory::Activations];
  Runtime runtime;
  runtime.normalizationKeptBytes = 2;
  CHECK(step.memory(runtime)[MemoryCategory::Activations] == plain + 2 * mebi);
}

TEST_CASE("an engine of pipelines keeps what a stage has sent, and buffers for what it receives") {
  DeviceOps step;
  ValueId x = step.add(rows({16}), {}, narrow); // arrives
  ValueId y = step.add(rows({16, 16}), {x}, narrow);
  step.add(rows({16, 0}), {y}, narrow);          // leaves
  ValueId dy = step.add(rows({16}), {}, narrow); // arrives in the backward pass
  ValueId dx = step.add(rows({16, 16, 16}), {x, dy}, narrow);
  step.add(rows({16, 0}), {dx}, narrow); // leaves
  for (size_t op : {0, 2, 3, 5})
    step.graph.ops[op].isTransfer = true;
  step.graph.inFlight = InFlight{2, OpId(3), {}};
  // At dx: x of both micro-batches, dy and dx.
  CHECK(step.memory(Runtime()).total() == 8 * mebi);
  Runtime keeping;
  keeping.keepsSentValues = true; // y of both
  CHECK(step.memory(keeping)[MemoryCategory::Activations] == 12 * mebi);
  Runtime buffers;
  buffers.keepsReceiveBuffers = true; // dy stays in its own, x has one beside it
  MemoryTable taken = step.memory(buffers);
  CHECK(taken[MemoryCategory::Runtime] == 4 * mebi);
  CHECK(taken.total() == 10 * mebi);
  step.graph.inFlight->microBatches = 1;
  CHECK(step.memory(keeping)[MemoryCategory::Activations] == 8 * mebi); // x, y, dy and dx
}

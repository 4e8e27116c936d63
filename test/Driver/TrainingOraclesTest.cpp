// Work, memory and updates of training steps against the figures of papers: Korthikanti et al. 2022 (Reducing
// Activation Recomputation in Large Transformer Models), Rajbhandari et al. 2020 (ZeRO), and published runs of
// Megatron-LM and torchtitan.
#include "../ValueOf.h"
#include "GptSteps.h"
#include "Samples.h"

#include "apc/Autodiff/Recompute.h"
#include "apc/IR/Apc.h"
#include "apc/Planning/Planning.h"

#include <catch2/catch.hpp>

#include <set>

using namespace apc;

namespace {

/// FLOPs of all contractions; every layer has those of the second.
double contractionFlops(GptSizes sizes) {
  auto flopsWith = [&](int64_t layers) {
    sizes.layers = layers;
    OpGraph graph = graphOf(sizes, {});
    double sum = 0;
    for (const GraphOp &op : graph.ops)
      if (const FactorRule &rule = graph.rules[op.rule.index()]; rule.work == Work::Contraction)
        sum += rule.flops();
    return sum;
  };
  auto layers = static_cast<double>(sizes.layers);
  double one = flopsWith(1), two = flopsWith(2);
  return one + (layers - 1) * (two - one);
}

/// Of one layer among others, in bytes for each s b h.
double keptPerLayer(GptSizes sizes, const StepOf &how) {
  int64_t bytes[2];
  for (int64_t more : {0, 1}) {
    sizes.layers = 3 + more;
    OpGraph graph = graphOf(sizes, how);
    bytes[more] = keptBytes(graph, [&](size_t value) { return graph.values[value].shape.bytes(); });
  }
  return double(bytes[1] - bytes[0]) / double(sizes.batch * sizes.length * sizes.hidden);
}

} // namespace

TEST_CASE("Steps of 22B, 175B, 530B and 1T have the FLOPs of Korthikanti et al., appendix A") {
  struct Run {
    GptSizes sizes;
    double flops;
  };
  const Run runs[] = {{{4, 2048, 6144, 64, 48, 51200}, 1.143561e15},
                      {{64, 2048, 12288, 96, 96, 51200}, 1.410915e17},
                      {{280, 2048, 20480, 128, 105, 51200}, 1.852230e18},
                      {{512, 2048, 25600, 160, 128, 51200}, 6.425876e18}};
  for (const Run &run : runs) {
    INFO(run.sizes.hidden << ", batch " << run.sizes.batch);
    CHECK(contractionFlops(run.sizes) == Approx(run.flops).epsilon(1e-6));
  }
}

// A sample by either vocabulary, and MLPerf's batch of 1,536; six digits.
TEST_CASE("A sample of GPT-3 175B takes 2.204e15 FLOPs, a batch of 1,536 3.386e18") {
  CHECK(contractionFlops({1, 2048, 12288, 96, 96, 51200}) == Approx(2.20456e15).epsilon(3e-6));
  CHECK(contractionFlops({1, 2048, 12288, 96, 96, 50257}) == Approx(2.20441e15).epsilon(3e-6));
  CHECK(contractionFlops({1536, 2048, 12288, 96, 96, 51200}) == Approx(3.38620e18).epsilon(3e-6));
}

// Table 2 of Korthikanti et al. without its dropout masks, of which our models have none: 34 + 5 a s / h is 32 + 2 a s
// / h.
TEST_CASE("A layer keeps 32 + 2 a s / h bytes for each s b h, and less where attention is fused or made again") {
  GptSizes sizes{2, 48, 64, 4};
  double scores = 2.0 * 4 * 48 / 64;
  CHECK(keptPerLayer(sizes, {}) == 32 + scores);
  // A fused attention makes its probabilities again from queries, keys and values.
  CHECK(keptPerLayer(sizes, {.isFused = true}) == 32);
  // The paper keeps the input of the projection beside what selective recomputation leaves; here it is made again.
  CHECK(keptPerLayer(sizes, {.recompute = RecomputePolicy::Attention, .isFused = true}) == 30);
  CHECK(keptPerLayer(sizes, {.recompute = RecomputePolicy::Full}) == 2);
  CHECK(keptPerLayer(sizes, {.recompute = RecomputePolicy::Full, .isFused = true}) == 2);
}

// Equations 2 and 4 of Korthikanti et al. without dropout: 8 + 24 / t + 2 a s / (h t), and (32 + 2 a s / h) / t where
// the sequence is cut as well.
TEST_CASE("Tensor parallelism leaves 8 of 32 bytes whole, and none where norms and sums are cut along the sequence") {
  GptSizes sizes{2, 64, 64, 4};
  constexpr double ways = 4, scores = 2.0 * 4 * 64 / 64;
  for (bool isCut : {false, true}) {
    INFO(isCut);
    double perUnit = keptPerLayerOn(4, sizes, {}, isCut);
    CHECK(perUnit == Approx(isCut ? (32 + scores) / ways : 8 + (24 + scores) / ways));
  }
}

// Megatron-LM's weights of 2 bytes, gradients of 4, masters and two moments of 4 each: 18 bytes for each parameter, 6 +
// 12 / d with a distributed optimizer. ZeRO's figures have gradients of 2 bytes: 2 less, or 2 / N.
TEST_CASE("States take 18 bytes for each parameter, and ZeRO's stages the shares of its paper") {
  constexpr int64_t hidden = 1024; // every tensor can be cut 1,024 times
  GptSizes sizes{1024, 8, hidden, 4, 1, 0, "f32"};
  OpGraph graph = graphOf(sizes, {.precision = Precision::Bf16, .microBatches = 2});
  constexpr double parameters = 12.0 * hidden * hidden + 4 * hidden;
  // Table 1, in GB of 7.5, 128 and 1,000 billion parameters; some digits behind the last are dropped.
  const std::pair<double, std::vector<std::vector<double>>> printed[] = {
      {7.5, {{52.5, 41.25, 30}, {35.6, 21.6, 7.5}, {31.4, 16.6, 1.88}, {30.4, 15.4, 0.47}, {30.1, 15.1, 0.12}}},
      {128, {{896, 704, 512}, {608, 368, 128}, {536, 284, 32}, {518, 263, 8}, {513, 257, 2}}},
      {1000, {{7000, 5500, 4000}, {4750, 2875, 1000}, {4187, 2218, 250}, {4046, 2054, 62.5}, {4011, 2013, 15.6}}}};
  const int64_t ranks[] = {4, 16, 64, 256, 1024};
  CHECK(double(stateBytes(graph, {4, 1, 0})) / parameters == Approx(18).epsilon(1e-3));
  for (size_t row = 0; row < std::size(ranks); ++row)
    for (int stage = 1; stage <= 3; ++stage) {
      auto n = double(ranks[row]);
      double each = double(stateBytes(graph, {ranks[row], 1, stage})) / parameters;
      INFO("stage " << stage << " on " << n);
      CHECK(each == Approx(stage == 1 ? 6 + 12 / n : stage == 2 ? 2 + 16 / n : 18 / n).epsilon(2e-3));
      double smaller = stage == 1 ? 2 : 2 / n;
      for (const auto &[billions, table] : printed)
        CHECK(billions * (each - smaller) == Approx(table[row][stage - 1]).epsilon(5e-3).margin(0.005));
    }
}

// The states of Megatron-LM's runs of Korthikanti et al. on 8-way tensor parallelism: 18 * 12 L h^2 / t p, without
// embeddings.
TEST_CASE("Layers of 22B hold 45.56 GiB of states on each of 8 devices of tensor parallelism") {
  GptSizes sizes{4, 64, 6144, 64, 1, 0, "f32"};
  int64_t bytes[2];
  for (int64_t more : {0, 1}) {
    sizes.layers = 1 + more;
    bytes[more] = stateBytes(graphOf(sizes, {.precision = Precision::Bf16, .microBatches = 2}), {1, 8});
  }
  CHECK(48 * double(bytes[1] - bytes[0]) / giB == Approx(45.5625).epsilon(1e-3));
}

TEST_CASE("Workers between the first and the last of 175B, 530B and 1T hold 45.56, 31.64 and 32.96 GiB of states") {
  struct Run {
    GptSizes sizes;
    int64_t workers;
    double states; ///< GiB
  };
  const Run runs[] = {{{1, 2048, 12288, 96, 96, 51200, "f32"}, 8, 45.5625},
                      {{1, 2048, 20480, 128, 105, 51200, "f32"}, 35, 31.640625},
                      {{1, 2048, 25600, 160, 128, 51200, "f32"}, 64, 32.958984375}};
  for (Run run : runs) {
    INFO(run.sizes.hidden);
    run.sizes.hasEmbedding = true;
    OpGraph graph = graphOf(run.sizes, {.precision = Precision::Bf16, .microBatches = 2});
    ParallelDegrees layout{1, 8};
    layout.pipeline = run.workers;
    PlanRequest request = trainingOn(layout.numDevices());
    request.fusionBytes = 0;
    Plan plan = valueOf(evaluateLayout(graph, request, valueOf(readTarget(request)), layout, {}));
    REQUIRE(plan.stages.size() == size_t(run.workers));
    for (const StagePlan &stage : llvm::ArrayRef(plan.stages).drop_front().drop_back())
      CHECK(double(stage.memory[MemoryCategory::Parameters] + stage.memory[MemoryCategory::Gradients] +
                   stage.memory[MemoryCategory::Optimizer]) /
                giB ==
            Approx(run.states).epsilon(1e-3));
  }
}

// torchtitan, Llama 3.1 8B under FSDP, all in 32 bits: 82.4 GiB on 8 devices and 67.0 on 128, 77.0 and 62.0 compiled.
TEST_CASE("From 8 to 128 devices the states of 8B parameters shrink by what torchtitan measured") {
  GptSizes sizes{128, 8, 512, 4, 1, 0, "f32"};
  OpGraph graph = graphOf(sizes, {.microBatches = 2});
  double parameters = 12.0 * 512 * 512 + 4 * 512;
  double each = double(stateBytes(graph, {8, 1, 3}) - stateBytes(graph, {128, 1, 3})) / parameters;
  double difference = each * 8.03e9 / giB;
  CHECK(difference == Approx(14.0).epsilon(5e-3)); // 16 P (1 / 8 - 1 / 128)
  CHECK(difference == Approx((82.4 - 67.0 + 77.0 - 62.0) / 2).epsilon(0.1));
}

namespace {

/// Of a value in the plan, on a device.
int64_t localBytes(const OpGraph &graph, const Plan &plan, size_t value) {
  const std::vector<int64_t> &dims = stageOf(plan).shardings[value].localShape;
  TensorShape shape = graph.values[value].shape;
  shape.dims.assign(dims.begin(), dims.end());
  return shape.bytes();
}

/// The most bytes that an op of a step reads, or makes, on its device: activations, and parameters that are gathered.
int64_t largestUnit(const OpGraph &graph, const Plan &plan, bool gathers) {
  std::vector<ValueId> storages = graph.storages();
  auto sumOf = [&](const auto &values) {
    std::set<ValueId> counted;
    int64_t sum = 0;
    for (std::optional<ValueId> id : values)
      if (ValueId at = id ? storages[id->index()] : ValueId(0); id && counted.insert(at).second) {
        ValueRole role = graph.value(at).role;
        sum += role == ValueRole::Activation             ? localBytes(graph, plan, at.index())
               : role == ValueRole::Parameter && gathers ? graph.value(at).shape.bytes()
                                                         : 0;
      }
    return sum;
  };
  int64_t largest = 0;
  for (const GraphOp &op : graph.ops)
    if (op.repeats > 1)
      largest = std::max({largest, sumOf(op.operands), sumOf(op.results)});
  return largest;
}

} // namespace

TEST_CASE("A peak is no less than what stays and what is kept, and recomputation leaves what stays") {
  GptSizes sizes{8, 64, 64, 4, 3, 512};
  for (int zero = 0; zero <= 3; ++zero) {
    std::optional<MemoryTable> without;
    for (llvm::StringRef name : recomputeNames()) {
      INFO("zero=" << zero << ", " << name.str());
      OpGraph graph = graphOf(sizes, {.recompute = *parseRecompute(name), .isFused = true, .microBatches = 2});
      ParallelDegrees layout{4, 1, zero};
      PlanRequest request = trainingOn(layout.numDevices());
      request.fusionBytes = 0;
      Plan plan = valueOf(evaluateLayout(graph, request, valueOf(readTarget(request)), layout, {}));
      int64_t stays = plan.memory[MemoryCategory::Parameters] + plan.memory[MemoryCategory::Gradients] +
                      plan.memory[MemoryCategory::Optimizer];
      int64_t kept = keptBytes(graph, [&](size_t value) { return localBytes(graph, plan, value); });
      int64_t unit = largestUnit(graph, plan, /*gathers=*/zero == 3);
      int64_t peak = plan.memory.total() - plan.memory[MemoryCategory::Workspace];
      CHECK(peak >= stays + std::max(kept, unit));
      if (!without)
        without = plan.memory; // the first policy is none
      for (MemoryCategory category : {MemoryCategory::Parameters, MemoryCategory::Gradients, MemoryCategory::Optimizer})
        CHECK(plan.memory[category] == (*without)[category]);
      CHECK(plan.memory.total() <= without->total());
    }
  }
}

// The norm of all gradients from the pieces of each rank, ZeRO's or not, is that of the whole: with another coefficient
// on any rank its pieces of the new parameters would differ. Momentum, because Adam does not see the size of gradients.
TEST_CASE("Clipped steps of all ranks are those of one device, however parameters and states are cut") {
  for (const char *layout : {"dp=2,tp=2", "dp=3,zero=1", "dp=2,tp=2,zero=3"})
    checkTinyGptStep(layout, [](PlanRequest &request) { request.clipNorm = 0.01; });
}

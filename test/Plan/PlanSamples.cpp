// A small plan, written by hand.
#include "PlanSamples.h"

#include "../ValueOf.h"

namespace apc {

namespace {

/// The one stage of the sample.
StagePlan sampleStage() {
  StagePlan stage;
  stage.mesh.axes = {{"data", 2, "node", 0}, {"model", 4, "device", 1}};
  stage.computeSeconds = 0.007;
  stage.communicationSeconds = 0.003;
  stage.exposedCommunicationSeconds = 0.003;
  stage.flopsPerDevice = 1e12;
  stage.memory[MemoryCategory::Parameters] = 1 << 20;
  stage.memory[MemoryCategory::Activations] = 1 << 10;
  stage.communicationBytes = {{"AllReduce", 4096}};
  stage.rejections = {{"m k, k n -> m n {m=8, k=16 sum, n=32} flops=2", 9, {{"m = 8 is less than 16", 3, "m:data"}}},
                      {"... -> ...", 4, {}}};
  stage.choices = {
      {"h.0/MatMul", "matmul", strategy("k:model"), 0.003, 0.0, 64,
       RunnerUp{strategy("n:model"),
                0.001,
                {{"level.node.bytes_per_second", 1.5, 37.5e9}, {"device.peak_flops_per_second", 0.25, std::nullopt}}},
       0},
      {"h.0/Add", "add", strategy("replicated"), 0.0005, 0.003, 64, std::nullopt, 1},
      {"h.1/MatMul", "matmul", strategy("k:model"), 0.003, 0.0, 64, RunnerUp{strategy("n:model"), 0.001}, 0},
      {"h.1/Add", "add", strategy("replicated"), 0.0005, 0.0, 64, std::nullopt, 1}};
  stage.choices[0].factors = {{"m", 8, false, false, RunnerUp{strategy("m:model"), 0.002}},
                              {"k", 16, true, false, RunnerUp{strategy("n:model"), 0.001}},
                              {"n", 32, false, false},
                              {"d", 4, false, true}};
  stage.choices[3].pinned =
      PinnedChoice{"pin 'h.1/Add: replicated' (pins.json, pin 2)", RunnerUp{strategy("d0:data"), -0.0002}};
  stage.shardings = {
      {"y0", "h.0/MatMul", ValueRole::Activation, {8, 32}, {8, 32}, {{{}, {}}, {"model"}, Combiner::Max}, 16},
      {"w", "w", ValueRole::Parameter, {16, 32}, {4, 32}, {{{"model"}, {}}, {}, Combiner::Sum}, 32}};
  stage.shardings[0].users = {"h.0/Add", "h.1/Add"};
  stage.shardings[1].users = {"h.0/MatMul"};
  stage.choices[2].merged = {"h.1/Softmax", "h.1/MatMul_1"};
  stage.collectives = {{"AllReduce", "device", 1, 0.003, 6144}};
  stage.fullestOp = "h.1/Add";
  stage.peakValues = {{"w*", 2, MemoryCategory::Parameters, false, 1 << 20},
                      {"y0", 1, MemoryCategory::Activations, true, 768},
                      {"logits", 1, MemoryCategory::Activations, false, 256}};
  stage.lossBytes = 256;
  stage.moves = {
      {{"y0", "y1"}, "[data, -]", {{{}, {}}, {}, Combiner::Sum}, {"h.0/Add", "h.1/Add"}, {"AllReduce{model}"}, 0.003}};
  stage.moves[0].before = "h.1/MatMul";
  return stage;
}

} // namespace

NamedStrategy strategy(llvm::StringRef text) { return valueOf(NamedStrategy::parse(text)); }

Plan samplePlan() {
  Plan plan;
  plan.request.modelPath = "two_layers.onnx";
  plan.request.dims = {{"batch", 4}};
  plan.request.cluster = "dgx-h100";
  plan.request.clusterOverrides = {"device.memory_bytes=40GiB", "level.node.bytes_per_second=25e9"};
  plan.request.devices = plan.devicesUsed = 8;
  plan.request.search = "dp";
  plan.request.memoryLimitBytes = plan.memoryLimitBytes = int64_t(1) << 33;
  plan.request.layouts = {{2, 4}};
  plan.modelSha256 = "00ff";
  plan.cluster = "dgx-h100";
  plan.search = "dp";
  plan.status = PlanStatus::Optimal;
  plan.lowerBoundSeconds = 0.010;
  plan.samplesPerSecond = 400;
  plan.training = PlanTraining{"loss", "adamw", "bf16", "auto", "none", 64, 8, 8, 2};
  plan.shareOfPeak = 0.25;
  plan.peakFormats = {"bf16", "f32"};
  plan.deviceMemoryBytes = int64_t(1) << 34;
  plan.references = {{"single device", 0.05, int64_t(1) << 22, true, ""},
                     {"data parallel", std::nullopt, std::nullopt, false, "batch of 1"}};
  plan.tried = {
      {1, "", 1, 8, 8, 2, "none", "auto", 0.01, int64_t(1) << 20, true, "", false},
      {2, "1f1b", 2, 8, 8, 1, "none", "auto", 0.012, int64_t(1) << 19, true, "", true},
      {1, "", 1, 4, std::nullopt, 1, "full", "auto", std::nullopt, std::nullopt, false, "does not fit", false}};
  plan.numTried = 5;
  plan.parallelism = {{"data parallel", 0.03, int64_t(1) << 21}, {"cut storage", 0.0095, int64_t(1) << 22}};
  plan.sensitivity = {{"device.memory_bytes_per_second", 0.8, 0.012, 2, "data=8 (node)", ""},
                      {"device.memory_bytes", 0.8, std::nullopt, 0, "", "no plan fits 8 devices"}};
  plan.notes = {"2 of 10 devices stay idle"};
  plan.timing = {0.1, 0.2, 0.3, 0.6};
  plan.stages = {sampleStage()};
  return withTotals(std::move(plan));
}

Plan changedPlan() {
  Plan plan = samplePlan();
  StagePlan &stage = plan.stages.front();
  plan.request.devices = 16;
  stage.mesh.axes[0].size = 4;
  stage.computeSeconds = 0.005;
  stage.communicationBytes = {{"AllGather", 2048}};
  stage.choices[0].strategy = stage.choices[2].strategy = strategy("n:model");
  stage.choices[0].seconds = stage.choices[2].seconds = 0.002;
  return withTotals(std::move(plan));
}

PlanRequest unusualRequest() {
  PlanRequest request;
  request.modelPath = "other.onnx";
  request.dims = {{"batch", 4}, {"seq", 128}};
  request.values = {{"k", {5}}, {"pads", {0, -1, 0.5}}};
  request.conditions = {{"training", false}, {"use_cache", true}};
  request.operators = {{"com.acme.Mix", "b s d, d -> b s d", 8}};
  request.strict = true;
  request.parameters = "w[0-9]+";
  request.devices = 12;
  request.cluster = "cpu-local";
  request.clusterOverrides = {"device.memory_bytes=40GiB", "device.launch_seconds=1e-6"};
  request.runtime = "ideal";
  request.memoryLimitBytes = 123456789;
  request.mode = StepMode::Infer;
  request.loss = "cross-entropy:logits";
  request.optimizer = OptimizerChoice::Momentum;
  request.weightDecay = 0.125;
  request.momentum = 0.75;
  request.dampening = 0.25;
  request.nesterov = true;
  request.beta1 = 0.8;
  request.beta2 = 0.95;
  request.epsilon = 1e-5;
  request.amsgrad = true;
  request.precision = PrecisionChoice::Fp16;
  request.overlap = request.fp32Gradients = true;
  request.lossScale = 1024;
  request.clipNorm = 0.5;
  request.batchNorm = BatchNormMode::Frozen;
  request.backward = BackwardMode::Derived;
  request.recompute = RecomputeChoice::Norms;
  request.zero = ZeroChoice::Stage2;
  request.globalBatch = 512;
  request.microBatch = 64;
  request.pipeline = {4};
  request.schedule = "zb-h1";
  request.chunks = {2};
  request.copies = {2};
  request.fusionBytes = 25 << 20;
  request.freeze = "wte.*";
  request.ties = {"wte=lm_head^T"};
  request.inputs = {valueOf(parseInputPin("pixels: d0=2, ...", "--input"))};
  request.launches = LaunchMode::Graph;
  request.search = "recursive";
  request.parallel = ParallelMode::Semi;
  request.meshAxes = 2;
  request.pins = {valueOf(parsePin("fc_in/MatMul: b0=node, n=(2@device node), ...", "--pin")),
                  valueOf(parsePin("a:b: replicated", "--pin"))};
  request.ignoresModelShardings = true;
  request.layouts = {{2, 6}, {4, 3, 1}};
  request.timeLimitSeconds = 0.05;
  request.gapTolerance = 1e-6;
  request.sensitivity = true;
  return request;
}

} // namespace apc

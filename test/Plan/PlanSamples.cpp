// A small plan, written by hand.
#include "PlanSamples.h"

namespace apc {

Plan samplePlan() {
  Plan plan;
  plan.modelPath = "two_layers.onnx";
  plan.modelSha256 = "00ff";
  plan.dims = {{"batch", 4}};
  plan.cluster = "dgx-h100";
  plan.clusterOverrides = {"device.memory_bytes=40GiB", "level.node.bytes_per_second=25e9"};
  plan.devices = plan.devicesUsed = 8;
  plan.mode = "infer";
  plan.search = "dp";
  plan.settings = {"dgx-h100", "dp", int64_t(1) << 33, {"dp=2,tp=4"}};
  plan.mesh = {{"data", 2, "node", 0}, {"model", 4, "device", 1}};
  plan.stepSeconds = 0.010;
  plan.computeSeconds = 0.007;
  plan.communicationSeconds = 0.003;
  plan.lowerBoundSeconds = 0.010;
  plan.status = "optimal";
  plan.flopsPerDevice = 1e12;
  plan.memory.parameters = 1 << 20;
  plan.memory.activations = 1 << 10;
  plan.memoryLimitBytes = int64_t(1) << 33;
  plan.communicationBytes = {{"AllReduce", 4096}};
  plan.baselines = {{"single device", 0.05, int64_t(1) << 22, true, ""},
                    {"data parallel", std::nullopt, std::nullopt, false, "batch of 1"}};
  plan.rejections = {{"m k, k n -> m n {m=8, k=16 sum, n=32} flops=2", 9, {{"m = 8 is less than 16", 3, "m:data"}}},
                     {"... -> ...", 4, {}}};
  plan.choices = {
      {"h.0/MatMul", "matmul", "k:model", 0.003, 0.0, 64,
       RunnerUp{"n:model",
                0.001,
                {{"level.node.bytes_per_second", 1.5, 37.5e9}, {"device.peak_flops_per_second", 0.25, std::nullopt}}},
       0},
      {"h.0/Add", "add", "replicated", 0.0005, 0.003, 64, std::nullopt, 1},
      {"h.1/MatMul", "matmul", "k:model", 0.003, 0.0, 64, RunnerUp{"n:model", 0.001}, 0},
      {"h.1/Add", "add", "replicated", 0.0005, 0.0, 64, std::nullopt, 1}};
  plan.choices[0].factors = {{"m", 8, false, false, RunnerUp{"m:model", 0.002}},
                             {"k", 16, true, false, RunnerUp{"n:model", 0.001}},
                             {"n", 32, false, false},
                             {"d", 4, false, true}};
  plan.choices[3].pinned = PinnedChoice{"pin 'h.1/Add: replicated' (pins.json, pin 2)", RunnerUp{"d0:data", -0.0002}};
  plan.shardings = {{"y0", "h.0/MatMul", "activation", {8, 32}, {8, 32}, {{}, {}}, {"model"}, 32},
                    {"w", "w", "parameter", {16, 32}, {4, 32}, {{"model"}, {}}, {}, 32}};
  plan.moves = {{"y0", "[-, -]", {"h.0/Add", "h.1/Add"}, {"AllReduce{model}"}, 0.003}};
  plan.sensitivity = {{"device.memory_bytes_per_second", 0.8, 0.012, 2, "data=8 (node)", ""},
                      {"device.memory_bytes", 0.8, std::nullopt, 0, "", "no plan fits 8 devices"}};
  plan.notes = {"2 of 10 devices stay idle"};
  plan.timing = {0.1, 0.2, 0.3, 0.6};
  return plan;
}

} // namespace apc

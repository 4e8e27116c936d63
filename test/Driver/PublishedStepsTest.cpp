// Rates, seconds and activations of training steps against printed tables: Korthikanti et al. 2022 (Reducing Activation
// Recomputation in Large Transformer Models), and Narayanan et al. 2021 (Efficient Large-Scale Language Model
// Training).
#include "../ValueOf.h"
#include "GptSteps.h"
#include "Samples.h"

#include "apc/Planning/Planning.h"
#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr double peak = 312e12; // of an A100, in 16 bits
constexpr int64_t ways = 8;     // of tensor parallelism, in all runs of Korthikanti et al.

/// A run of Korthikanti et al.: sizes with the micro-batch, micro-batches of a step, devices; table 5's seconds with
/// selective recomputation, and its shares of the peak, of the model's FLOPs and of those of the hardware.
struct Run {
  GptSizes sizes;
  int64_t microBatches, devices;
  double seconds, modelShare, hardwareShare;

  double flopsUnit() const { // B L s h^2
    const GptSizes &of = sizes;
    return double(of.batch * microBatches) * double(of.layers * of.length) * double(of.hidden) * double(of.hidden);
  }
  double lengthShare() const { return double(sizes.length) / double(sizes.hidden); }
  double bytesUnit() const { return double(sizes.batch * sizes.length * sizes.hidden); }          // s b h
  double scoresUnit() const { return double(sizes.heads * sizes.length) / double(sizes.hidden); } // a s / h
};

const Run runs[] = {{{4, 2048, 6144, 64, 48, 51200}, 1, 8, 1.10, 0.415, 0.437},
                    {{1, 2048, 12288, 96, 96, 51200}, 64, 64, 13.75, 0.514, 0.528},
                    {{1, 2048, 20480, 128, 105, 51200}, 280, 280, 37.83, 0.560, 0.570},
                    {{1, 2048, 25600, 160, 128, 51200}, 512, 512, 71.49, 0.563, 0.570}};

/// FLOPs of all contractions of a step; every layer has those of the second.
double stepFlops(const Run &run, RecomputePolicy recompute) {
  GptSizes sizes = run.sizes;
  double flops[2];
  for (int64_t more : {0, 1}) {
    sizes.layers = 1 + more;
    OpGraph graph = graphOf(sizes, {.recompute = recompute});
    flops[more] = 0;
    for (const GraphOp &op : graph.ops)
      if (const FactorRule &rule = graph.rules[op.rule.index()]; rule.work == Work::Contraction)
        flops[more] += rule.flops();
  }
  return double(run.microBatches) * (flops[0] + double(run.sizes.layers - 1) * (flops[1] - flops[0]));
}

/// Of a layer in a run, in bytes for each s b h; layers hold the same whatever their number.
double keptOf(const Run &run, RecomputePolicy recompute, bool isCut) {
  GptSizes sizes = run.sizes;
  sizes.vocabulary = 0;
  return keptPerLayerOn(ways, sizes, {.recompute = recompute, .isFused = recompute == RecomputePolicy::Attention},
                        isCut);
}

ParallelDegrees pipelineOf(int64_t data, int64_t workers, int64_t chunks) {
  ParallelDegrees layout{data, ways};
  layout.pipeline = workers;
  layout.chunks = chunks > 1 ? std::optional(chunks) : std::nullopt;
  layout.microBatch = 1;
  return layout;
}

/// A run on `data` times its devices, all of which are equally fast, each with as many samples; attention is one op, as
/// kernels have it.
Plan planOfRun(const Run &run, int64_t data, int64_t chunks) {
  GptSizes sizes = run.sizes;
  sizes.batch = data;
  OpGraph graph =
      graphOf(sizes, {.recompute = RecomputePolicy::Attention, .isFused = true, .microBatches = run.microBatches});
  PlanRequest request = trainingOn(run.devices * data, "dgx-a100-80gb");
  request.globalBatch = run.microBatches * data;
  request.clusterOverrides = {"device.speed_variation=0"};
  ParallelDegrees layout = pipelineOf(data, run.devices / ways, chunks);
  return valueOf(evaluateLayout(graph, request, valueOf(readTarget(request)), layout, {}));
}

/// Micro-batches that a first worker keeps of its stages, as a share of those of the whole model: 1F1B, or interleaved.
double modelsInFlight(uint32_t workers, uint32_t chunks) {
  const PipelineSchedule &schedule = *valueOf(findPipelineSchedule(chunks > 1 ? "interleaved" : "1f1b", chunks));
  ActionLists lists = valueOf(generateActions(schedule, {workers, 4 * workers, chunks}));
  uint32_t most = 0;
  for (const std::vector<HeldUnits> &held : valueOf(PipelineSimulator::make(lists)).heldTogether(0)) {
    uint32_t count = 0;
    for (const HeldUnits &units : held)
      count += units.count();
    most = std::max(most, count);
  }
  return double(most) / double(workers * chunks);
}

} // namespace

// Equation 9 counts 72 B L s h^2 s / 3 h for scores with selective recomputation: their products once more, of both
// passes. Those of the forward pass alone are run again, a third of that.
TEST_CASE("With the printed seconds, steps take the printed shares of the peak") {
  for (const Run &run : runs) {
    INFO(run.sizes.hidden);
    double model = stepFlops(run, RecomputePolicy::None);
    double again = stepFlops(run, RecomputePolicy::Attention) - model;
    double capacity = run.seconds * double(run.devices) * peak;
    CHECK(again == Approx(4 * run.flopsUnit() * run.lengthShare()).epsilon(1e-9));
    CHECK(model / capacity == Approx(run.modelShare).epsilon(0.005));
    CHECK((model + 3 * again) / capacity == Approx(run.hardwareShare).epsilon(0.005));
  }
}

// Table 2 has 10 + 24 / t + 5 a s / h t with dropout, of which our models have none: 8 + 24 / t + 2 a s / h t. With the
// sequence cut and selective recomputation it has 34 / t, and here 30 / t: the input of the projection is made again.
TEST_CASE("Activations of a first stage are those of the printed bars, less the masks of dropout") {
  constexpr double printed[][2] = {
      {59.25, 9.5625}, {66.84375, 12.3515625}, {114.0234375, 23.076171875}, {131.25, 26.5625}};
  constexpr uint32_t chunks[] = {1, 3, 3, 1};
  for (auto [run, bars, each] : llvm::zip_equal(runs, printed, chunks)) {
    INFO(run.sizes.hidden);
    auto workers = uint32_t(run.devices / ways);
    double factor = modelsInFlight(workers, each);
    CHECK(factor == Approx(each == 1 ? 1 : 1 + double(workers - 1) / double(workers * each)));
    double whole = factor * double(run.sizes.layers) * run.bytesUnit() / giB;
    double scores = run.scoresUnit() / ways;
    CHECK(whole * (10 + 24.0 / ways + 5 * scores) == Approx(bars[0]).epsilon(1e-5));
    CHECK(whole * 34 / ways == Approx(bars[1]).epsilon(1e-5));
    double tensor = whole * keptOf(run, RecomputePolicy::None, false);
    double selective = whole * keptOf(run, RecomputePolicy::Attention, true);
    CHECK(tensor == Approx(bars[0] * (8 + 24.0 / ways + 2 * scores) / (10 + 24.0 / ways + 5 * scores)).epsilon(1e-5));
    CHECK(selective == Approx(bars[1] * 30 / 34).epsilon(1e-5));
  }
}

TEST_CASE("Shares of activations that cuts and recomputation leave are the printed ones, less the masks of dropout") {
  // Of tensor parallelism: with cut sequences, with selective recomputation, with both, all recomputed.
  constexpr double printed[][4] = {
      {66.8, 49.4, 16.1, 7.6}, {62.0, 56.5, 18.5, 8.7}, {58.3, 61.9, 20.2, 9.5}, {58.3, 61.9, 20.2, 9.5}};
  for (auto [run, shares] : llvm::zip_equal(runs, printed)) {
    INFO(run.sizes.hidden);
    double scores = run.scoresUnit();
    auto tensor = [&](double apart, double rest, double each) { return apart + rest / ways + each * scores / ways; };
    const double theirs[] = {(34 + 5 * scores) / ways, tensor(10, 24, 0), 34.0 / ways, 2};
    const double ours[] = {(32 + 2 * scores) / ways, tensor(8, 22, 0), 30.0 / ways, 2};
    constexpr RecomputePolicy policies[] = {RecomputePolicy::None, RecomputePolicy::Attention,
                                            RecomputePolicy::Attention, RecomputePolicy::Full};
    constexpr bool cuts[] = {true, false, true, false};
    double of = keptOf(run, RecomputePolicy::None, false);
    for (size_t at = 0; at < 4; ++at) {
      INFO(at);
      CHECK(100 * theirs[at] / tensor(10, 24, 5) == Approx(shares[at]).epsilon(0.015));
      CHECK(keptOf(run, policies[at], cuts[at]) / of == Approx(ours[at] / tensor(8, 24, 2)).epsilon(1e-6));
    }
  }
}

// Table 2 in MiB for each layer and micro-batch. The gathered inputs of four products stay in two tensors of s b h for
// the gradients of the weights, where the paper keeps a device's part of them and gathers them again.
TEST_CASE(
    "A layer of a plan holds the printed MiB of activations: whole, on 8 devices, with cut sequences, recomputed") {
  constexpr double printed[][4] = {
      {6752, 1264, 844, 96}, {2736, 552, 342, 48}, {3920, 840, 490, 80}, {4900, 1050, 612.5, 100}};
  for (auto [run, layer] : llvm::zip_equal(runs, printed)) {
    INFO(run.sizes.hidden);
    GptSizes sizes = run.sizes;
    sizes.vocabulary = 0;
    const StepOf full{.recompute = RecomputePolicy::Full, .microBatches = 2};
    CHECK(double(layerBytesOn(ways, sizes, full, false).planned) / miB == layer[3]);
    sizes.hasDropout = true;
    const StepOf whole{.microBatches = 2};
    CHECK(double(layerBytesOn(1, sizes, whole, false).planned) / miB == layer[0]);
    CHECK(double(layerBytesOn(ways, sizes, whole, false).planned) / miB == layer[1]);
    LayerBytes cut = layerBytesOn(ways, sizes, whole, true);
    CHECK(double(cut.kept) / miB == layer[2]);
    CHECK(double(cut.planned) / miB == layer[2] + 2 * 2 * (1 - 1.0 / ways) * run.bytesUnit() / miB);
  }
}

// 5 a s / h: probabilities, their mask, and the dropped ones. Selective recomputation saves these. Draws are kept here,
// so that with dropout a policy saves less; without it, 2 a s / h and the result of the attention.
TEST_CASE("Scores take the printed bytes for each s b h, and the share that selective recomputation saves") {
  constexpr double printed[] = {106.7, 80, 64, 64};
  for (auto [run, scores] : llvm::zip_equal(runs, printed)) {
    INFO(run.sizes.hidden);
    GptSizes sizes = run.sizes;
    sizes.vocabulary = 0;
    auto perUnit = [&](const StepOf &how) {
      return double(layerBytesOn(1, sizes, how, false).planned) / run.bytesUnit();
    };
    const StepOf selective{.recompute = RecomputePolicy::Attention, .isFused = true, .microBatches = 2};
    double without = perUnit({.microBatches = 2});
    CHECK(without - perUnit(selective) == Approx(2 * run.scoresUnit() + 2));
    sizes.hasDropout = true;
    double dropped = perUnit({.microBatches = 2});
    CHECK(dropped - 34 == Approx(scores).epsilon(1e-3));
    double saved = (dropped - 34) / dropped;
    if (run.sizes.hidden == 12288) // GPT-3
      CHECK(saved == Approx(0.70).epsilon(0.005));
    if (run.sizes.hidden == 20480) // MT-NLG
      CHECK(saved == Approx(0.65).epsilon(0.005));
  }
}

// 37.83 s become 39.15 s, without overlap: gradients of 4 bytes, 1/280 of all, moved at 10 GB/s. Links here give 22.5
// GB/s to exchanges that have them to themselves; in the run those of all devices met on the switches.
TEST_CASE("8-way data parallelism of 530B adds about what was measured to a step without overlap") {
  Plan one = planOfRun(runs[2], 1, 3), eight = planOfRun(runs[2], 8, 3);
  constexpr double measured = 39.15 / 37.83 - 1;
  CHECK(eight.computeSeconds == Approx(one.computeSeconds).epsilon(1e-6));
  double added = eight.stepSeconds / one.stepSeconds - 1;
  CHECK(added < measured);
  CHECK(added > measured / 2);
  double bytes = 4 * 530e9 / 280;
  CHECK(eight.stepSeconds - one.stepSeconds == Approx(2 * 7.0 / 8 * bytes / 22.5e9).epsilon(0.1));
}

namespace {

/// TFLOP/s of a device, as SC'21 counts them, with all recomputed ones.
double zero3Rate(int64_t devices, int64_t microBatch, std::vector<std::string> overrides) {
  PlanRequest request = requestOf({"gpt3_175b_loss.onnx", devices, "dgx-a100-80gb"});
  request.mode = StepMode::Train;
  request.precision = PrecisionChoice::Bf16;
  request.globalBatch = 1536;
  request.clusterOverrides = std::move(overrides);
  std::string layout = llvm::formatv("dp={0},zero=3,mb={1},recompute=full", devices, microBatch);
  Plan plan = valueOf(evaluateModel(request, valueOf(parseParallelDegrees(layout, "--layout")), controlOf()));
  constexpr double layers = 96, length = 2048, hidden = 12288, vocabulary = 51200;
  double flops =
      96 * 1536 * layers * length * hidden * hidden * (1 + length / (6 * hidden) + vocabulary / (16 * layers * hidden));
  return flops / double(devices) / plan.stepSeconds / 1e12;
}

} // namespace

// Table 2, ZeRO 3 without tensor parallelism: 144, 88 and 44 TFLOP/s. That run gathered and reduced the three volumes
// of its parameters in 40 to 55 s, as over one of a node's 8 ports; all 8 need 6 s.
TEST_CASE("ZeRO 3 of 175B loses its rate as the batch of a device shrinks, as SC'21 measured") {
  const double measured[] = {144, 88, 44};
  const std::pair<int64_t, int64_t> sizes[] = {{384, 4}, {768, 2}, {1536, 1}};
  double before[2] = {peak / 1e12, peak / 1e12};
  for (auto [rate, size] : llvm::zip_equal(measured, sizes)) {
    INFO(size.first);
    double ports = zero3Rate(size.first, size.second, {});
    double port = zero3Rate(size.first, size.second, {"level.node.bytes_per_second=3.125GB/s"});
    CHECK(ports < before[0]);
    CHECK(port < before[1]);
    CHECK(port < ports);
    CHECK(port == Approx(rate).epsilon(0.15));
    before[0] = ports;
    before[1] = port;
  }
}

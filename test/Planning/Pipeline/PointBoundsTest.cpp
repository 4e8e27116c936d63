// Bounds of points against the simulation of all their cuts.
#include "../../../lib/Planning/Pipeline/Bound/PointBounds.h"
#include "../../Rounding.h"

#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <array>
#include <numeric>
#include <random>

using namespace apc;

namespace {

/// A layer that takes what its minima say: F, I, W and the update.
struct Layer {
  double forward, inputs, weights, update;
  bool followsBefore = true;

  LayerMinima minima(uint32_t microBatches) const {
    double passes = forward + inputs + weights;
    return {microBatches * passes + update, passes, forward, inputs, followsBefore, /*isAwaited=*/followsBefore};
  }
};

std::vector<LayerMinima> minimaOf(const std::vector<Layer> &layers, uint32_t microBatches) {
  std::vector<LayerMinima> minima;
  for (const Layer &layer : layers)
    minima.push_back(layer.minima(microBatches));
  return minima;
}

/// A layer that is fast with many bytes, or slower with fewer.
struct LayerChoice {
  Layer layer;
  double bytes;
};
using Choices = std::vector<std::array<LayerChoice, 2>>;

/// The step of a cut; `ends`: the layers behind each stage.
double secondsOf(const PipelineSimulator &simulator, const std::vector<Layer> &layers,
                 const std::vector<uint32_t> &ends, bool hasBarrier) {
  PipelineWork work;
  work.tail = PipelineTail{.hasBarrier = hasBarrier};
  uint32_t layer = 0;
  for (uint32_t stage = 0; stage < ends.size(); ++stage) {
    if (stage > 0 && layers[layer].followsBefore)
      work.messages.push_back({stage - 1, stage, 0});
    StageWork &own = work.stages.emplace_back();
    for (; layer < ends[stage]; ++layer) {
      own.forwardSeconds += layers[layer].forward;
      own.inputGradientSeconds += layers[layer].inputs;
      own.weightGradientSeconds += layers[layer].weights;
      own.optimizerSeconds += layers[layer].update;
    }
  }
  return llvm::cantFail(simulator.run(work)).stepSeconds;
}

/// Of all cuts.
double fastestOf(const ActionLists &lists, const std::vector<Layer> &layers, bool hasBarrier) {
  PipelineSimulator simulator = llvm::cantFail(PipelineSimulator::make(lists));
  const auto numLayers = static_cast<uint32_t>(layers.size()), numStages = lists.shape.numStages();
  std::vector<uint32_t> ends(numStages);
  std::iota(ends.begin(), ends.end(), 1);
  ends.back() = numLayers;
  std::optional<double> fastest;
  for (;;) {
    double seconds = secondsOf(simulator, layers, ends, hasBarrier);
    fastest = std::min(fastest.value_or(seconds), seconds);
    uint32_t stage = numStages - 1;
    while (stage > 0 && ends[stage - 1] == numLayers - (numStages - stage))
      --stage;
    if (stage == 0)
      return *fastest;
    for (uint32_t end = ++ends[stage - 1]; stage + 1 < numStages; ++stage)
      ends[stage] = ++end;
  }
}

/// Of all cuts and choices with which each worker's layers have room; none where none have.
std::optional<double> fastestWithin(double limitBytes, const ActionLists &lists, const Choices &choices) {
  PipelineSimulator simulator = llvm::cantFail(PipelineSimulator::make(lists));
  const auto numLayers = static_cast<uint32_t>(choices.size()), numStages = lists.shape.numStages();
  std::optional<double> fastest;
  for (uint32_t cuts = 0; cuts < 1U << (numLayers - 1); ++cuts) { // a bit for a cut behind each layer but the last
    std::vector<uint32_t> ends;
    for (uint32_t layer = 0; layer < numLayers; ++layer)
      if (layer + 1 == numLayers || (cuts >> layer & 1) != 0)
        ends.push_back(layer + 1);
    if (ends.size() != numStages)
      continue;
    for (uint32_t chosen = 0; chosen < 1U << numLayers; ++chosen) {
      std::vector<Layer> layers;
      std::vector<double> bytes(lists.shape.workers);
      for (uint32_t stage = 0; stage < numStages; ++stage)
        for (auto layer = static_cast<uint32_t>(layers.size()); layer < ends[stage]; ++layer) {
          const LayerChoice &own = choices[layer][chosen >> layer & 1];
          layers.push_back(own.layer);
          bytes[lists.shape.workerOf(stage)] += own.bytes;
        }
      if (*llvm::max_element(bytes) > limitBytes)
        continue;
      const double seconds = secondsOf(simulator, layers, ends, /*hasBarrier=*/false);
      fastest = std::min(fastest.value_or(seconds), seconds);
    }
  }
  return fastest;
}

/// The least that layers take and pay, whatever is chosen.
std::vector<LayerMinima> minimaWithBytes(const Choices &choices, llvm::ArrayRef<double> byteCosts,
                                         uint32_t microBatches) {
  std::vector<LayerMinima> minima;
  for (const auto &[fast, small] : choices) {
    LayerMinima &own = minima.emplace_back(fast.layer.minima(microBatches));
    for (double byteCost : byteCosts)
      own.withBytes.push_back(
          std::min(own.step + byteCost * fast.bytes, small.layer.minima(microBatches).step + byteCost * small.bytes));
  }
  return minima;
}

double boundOf(const PipelineSchedule &schedule, const PipelineCounts &counts, const std::vector<Layer> &layers) {
  return leastSecondsOf({counts.workers, counts.chunks, counts.microBatches, schedule.splitsBackward},
                        minimaOf(layers, counts.microBatches))
      .value();
}

} // namespace

TEST_CASE("No cut of a schedule ends a step before the bound of its point") {
  std::mt19937_64 random(47);
  auto draw = [&](unsigned most) { return static_cast<double>(1 + random() % most); };
  size_t numPoints = 0, numTight = 0;
  for (unsigned round = 0; round < 400; ++round) {
    PipelineCounts counts{static_cast<uint32_t>(1 + random() % 4), static_cast<uint32_t>(1 + random() % 9),
                          static_cast<uint32_t>(1 + random() % 2)};
    std::vector<Layer> layers(counts.workers * counts.chunks + random() % 4);
    const bool isEven = round % 4 == 0, isChain = round % 5 != 0;
    for (Layer &layer : layers)
      layer = isEven ? Layer{2, 3, 1, 0} : Layer{draw(6), draw(8), draw(5), draw(20) - 1};
    for (Layer &layer : layers)
      layer.followsBefore = isChain || random() % 3 != 0;
    for (const PipelineSchedule &schedule : allPipelineSchedules()) {
      bool isOffered = schedule.placement != Placement::Mirrored && schedule.leastChunks <= counts.chunks &&
                       counts.chunks <= schedule.mostChunks && schedule.accepts(counts);
      if (!isOffered)
        continue;
      INFO(schedule.name.str() << " on " << counts.workers << " workers with " << counts.chunks << " chunks, "
                               << counts.microBatches << " micro-batches and " << layers.size() << " layers");
      ActionLists lists = llvm::cantFail(generateActions(schedule, counts));
      double fastest = fastestOf(lists, layers, /*hasBarrier=*/random() % 2), bound = boundOf(schedule, counts, layers);
      CHECK(bound <= fastest * (1 + rounding));
      numTight += bound >= fastest * (1 - rounding);
      ++numPoints;
    }
  }
  CHECK(numPoints > 1000);
  CHECK(numTight > numPoints / 4);
}

TEST_CASE("No cut that fits the memory ends a step before the bound of its point at any cost of a byte") {
  std::mt19937_64 random(53);
  auto draw = [&](unsigned most) { return static_cast<double>(1 + random() % most); };
  const std::vector<double> byteCosts{0.5, 2, 8, 32};
  size_t numFitting = 0, numRaised = 0;
  for (unsigned round = 0; round < 60; ++round) {
    PipelineCounts counts{static_cast<uint32_t>(1 + random() % 2), static_cast<uint32_t>(1 + random() % 5),
                          static_cast<uint32_t>(1 + random() % 2)};
    Choices choices(counts.workers * counts.chunks + random() % 3);
    double bytes = 0;
    for (auto &[fast, small] : choices) {
      fast = {{draw(6), draw(8), draw(5), draw(20) - 1}, 4 + draw(6)};
      small = {fast.layer, draw(4)};
      small.layer.forward += draw(4);
      small.layer.update += draw(20);
      bytes += fast.bytes;
    }
    const double limitBytes = 0.7 * bytes / counts.workers;
    std::vector<ByteBudget> budgets;
    for (double byteCost : byteCosts)
      budgets.push_back({byteCost * limitBytes, 0});
    for (const PipelineSchedule &schedule : allPipelineSchedules()) {
      bool isOffered = schedule.placement != Placement::Mirrored && !schedule.hasPieces && !schedule.overlapsPairs &&
                       schedule.leastChunks <= counts.chunks && counts.chunks <= schedule.mostChunks &&
                       schedule.accepts(counts);
      if (!isOffered)
        continue;
      auto fastest = fastestWithin(limitBytes, llvm::cantFail(generateActions(schedule, counts)), choices);
      if (!fastest)
        continue;
      INFO(schedule.name.str() << " on " << counts.workers << " workers with " << counts.chunks << " chunks, "
                               << counts.microBatches << " micro-batches and " << choices.size() << " layers");
      const BoundedPoint point{counts.workers, counts.chunks, counts.microBatches, schedule.splitsBackward};
      const std::vector<LayerMinima> minima = minimaWithBytes(choices, byteCosts, counts.microBatches);
      const double bound = leastSecondsOf(point, minima, budgets).value();
      CHECK(bound <= *fastest * (1 + rounding));
      numRaised += bound > leastSecondsOf(point, minima).value() * (1 + rounding);
      ++numFitting;
    }
  }
  CHECK(numFitting > 50);
  CHECK(numRaised > numFitting / 4);
}

TEST_CASE("Bounds of points are what even layers take") {
  const std::vector<Layer> layers(8, Layer{1, 1, 1, 0});
  auto check = [&](const char *name, uint32_t chunks, double seconds) {
    INFO(name);
    const PipelineSchedule &schedule = *llvm::cantFail(findPipelineSchedule(name, chunks));
    PipelineCounts counts{4, 8, chunks};
    CHECK(boundOf(schedule, counts, layers) == Approx(seconds));
    CHECK(fastestOf(llvm::cantFail(generateActions(schedule, counts)), layers, false) == Approx(seconds));
  };
  check("gpipe", 1, 66);
  check("1f1b", 1, 66);
  check("zb-h2", 1, 54);
  check("interleaved", 2, 57);
  check("zb-v", 2, 51);
}

TEST_CASE("Bounds of points count layers that do not divide, and none for more stages than layers") {
  std::vector<Layer> layers(9, Layer{1, 1, 1, 0}); // two workers cannot have four and a half
  auto bound = [&](BoundedPoint point) { return leastSecondsOf(point, minimaOf(layers, 8)); };
  CHECK(bound({2, 1, 8, false}).value() == Approx(8 * 15)); // 5 and 4; the other way round it is 8 * 15 + 12
  CHECK(bound({2, 2, 8, false}).value() == Approx(8 * 15));
  CHECK_FALSE(bound({4, 3, 8, false}));
}

TEST_CASE("Bounds hold for more micro-batches of a step with as many samples") {
  PipelineBound bound{4, 8, 10, 3, minimaOf(std::vector<Layer>(8, Layer{1, 1, 1, 0}), 8)};
  PlanRequest request;
  request.schedule = "1f1b";
  request.chunks = {1};
  CHECK(bound.seconds(request, 8).value() == Approx(66));
  CHECK(bound.seconds(request, 16).value() == Approx(57)); // half the bubble
  request.schedule = "interleaved";
  request.chunks = {};
  CHECK(bound.seconds(request, 8).value() == Approx(57));
  CHECK(bound.seconds(request, 16).value() == Approx(52.5));
  bound.pathSeconds = 70;
  CHECK(bound.seconds(request, 8).value() == Approx(70));
  request.chunks = {3};
  CHECK_FALSE(bound.seconds(request, 8));
}

TEST_CASE("Bounds count what a micro-batch keeps, less of it for more of them, and nothing of it with any memory") {
  // Without a pipeline: 8 layers of 24 s each, for whose bytes 1 s each is paid at 0.5 s a byte.
  std::vector<LayerMinima> layers(8, {24, 3, 1, 1, true, true, {25}});
  PipelineBound bound{1, 8, 192, 24, layers, {0.5}, {{0, 0}, {0.25, 10}, {0.5, 14}}, 10};
  CHECK(bound.seconds(PlanRequest(), 8).value() == Approx(8 * 25 + 14 - 5));
  CHECK(bound.seconds(PlanRequest(), 16).value() == Approx(8 * 25 + 10 - 5)); // at half the cost of a byte
  CHECK(bound.seconds(PlanRequest(), 32).value() == Approx(8 * 25 + 5 - 5));
  CHECK(bound.withAnyMemory().seconds(PlanRequest(), 8).value() == Approx(8 * 24));
}

TEST_CASE("few micro-batches leave workers idle until one has gone through all layers") {
  // Four micro-batches on eight workers: 8 * 4 * 3 of work, and 4 * 8 of waiting.
  std::vector<LayerMinima> layers(8, {12, 3, 1, 1, true, true});
  CHECK(leastSecondsOf({8, 1, 4, /*splitsBackward=*/true}, layers, {}).value() == Approx(19)); // 7 + 12: the last one
  layers.resize(32, layers.front()); // each with four of them in four chunks; the last one may begin behind seven
  CHECK(leastSecondsOf({8, 4, 4, /*splitsBackward=*/true}, layers, {}).value() == Approx(64)); // there and back
  for (LayerMinima &layer : layers)
    layer.back = 0;
  CHECK(leastSecondsOf({8, 4, 4, /*splitsBackward=*/true}, layers, {}).value() == Approx(48 + 16));
  for (LayerMinima &layer : layers) // 80 s for the bytes of a worker, less what the limit allows
    layer.withBytes = {layer.step + 20};
  CHECK(leastSecondsOf({8, 4, 4, /*splitsBackward=*/true}, layers, {{40, 0}}).value() == Approx(48 + 80 - 40 + 16));
  CHECK(leastSecondsOf({8, 4, 4, /*splitsBackward=*/true}, layers, {{80, 0}}).value() == Approx(48 + 16));
  // Each worker keeps a share of what costs 160 s for all.
  CHECK(leastSecondsOf({8, 4, 4, /*splitsBackward=*/true}, layers, {{80, 160}}).value() == Approx(48 + 20 + 16));
  layers[9].isAwaited = false;
  CHECK(leastSecondsOf({8, 4, 4, /*splitsBackward=*/true}, layers, {}).value() == Approx(48 + 7));
}

TEST_CASE("a micro-batch goes forward through all layers that follow each other, and back to the first") {
  // On a worker each: 1 s forward, 1 s for the gradients that the layer in front waits for, 1 s for its weights.
  std::vector<LayerMinima> layers(4, {3, 3, 1, 1, true});
  CHECK(leastSecondsOf({4, 1, 1, /*splitsBackward=*/true}, layers, {}).value() == Approx(4 * (1 + 1)));
  CHECK(leastSecondsOf({4, 1, 1, /*splitsBackward=*/false}, layers, {}).value() == Approx(4 * 3));
  layers[1].followsBefore = false; // the first one may run beside the others
  CHECK(leastSecondsOf({4, 1, 1, /*splitsBackward=*/true}, layers, {}).value() == Approx(3 * (1 + 1)));
  CHECK(leastSecondsOf({4, 1, 1, /*splitsBackward=*/false}, layers, {}).value() == Approx(3 * 3));
}

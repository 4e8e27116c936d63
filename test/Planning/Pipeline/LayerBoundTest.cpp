// The minima of layers against whole steps that hold those layers.
#include "../../../lib/Planning/Meshes/Meshes.h"
#include "../../../lib/Planning/Pipeline/Bound/FastestLayers.h"
#include "../../../lib/Planning/Pipeline/Bound/KeptCosts.h"
#include "../../../lib/Planning/Pipeline/Bound/PointBounds.h"
#include "../../../lib/Planning/Pipeline/StageSeconds.h"
#include "../../Rounding.h"
#include "../../Sanitized.h"
#include "../RandomGraphs.h"

#include "apc/Graph/LayerCuts.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

struct Setting {
  bool overlaps = false;
  std::optional<int64_t> fusionBytes;
  int64_t microBatches = 1;
  bool isMasked = false;
};

PlanRequest requestOf(const Setting &setting) {
  PlanRequest request;
  request.mode = StepMode::Train;
  request.devices = 4;
  request.cluster = "cpu-local";
  request.gapTolerance = 0;
  request.overlap = setting.overlaps;
  request.fusionBytes = setting.fusionBytes;
  return request;
}

LayerMinima sumOf(llvm::ArrayRef<LayerMinima> layers) {
  LayerMinima sum;
  for (const LayerMinima &layer : layers) {
    sum.step += layer.step;
    sum.microBatch += layer.microBatch;
    sum.forward += layer.forward;
  }
  return sum;
}

/// Parts of programs by lot take no less than the layers apart.
void checkParts(const PlanningTask &task, const LayerMinima &least, std::mt19937_64 &random) {
  CutStep uncut = llvm::cantFail(cutStep(task.graph, {}, /*splitsBackward=*/true));
  const StageGraph &stage = uncut.stages.front();
  PlanningTask own{stage.graph, task.request,         task.pool,   task.memoryLimitBytes,
                   task.search, PinnedOps(task.pins), task.control};
  own.fusion = fusionOf(stage.graph, task.request);
  for (const Mesh &mesh : logicalMeshes(Mesh::fromLevels(task.pool.levelSizes()), 3))
    for (unsigned number = 0; number < 5; ++number) {
      llvm::Expected<Candidate> candidate = costCandidate(own, mesh, drawStrategies(stage.graph, mesh, random));
      if (!candidate) {
        llvm::consumeError(candidate.takeError()); // a value that cannot become partial
        continue;
      }
      PlanStageSeconds seconds = secondsByPart(stage.graph, stage.parts, *candidate);
      CHECK(least.forward <= seconds.forward * (1 + rounding));
      CHECK(least.microBatch <= seconds.ofMicroBatch() * (1 + rounding));
    }
}

OpGraph drawStep(std::mt19937_64 &random, const Setting &setting) {
  if (setting.isMasked)
    return maskedTrainingStep(random, 5);
  return setting.microBatches > 1 ? stepInMicroBatches(random, 5, setting.microBatches) : randomTrainingStep(random, 5);
}

/// A step of several layers, on four devices of one worker. Layers take no more apart than the fastest program of the
/// step takes, which a search finds; true where the bound says something.
bool compare(std::mt19937_64 &random, const Setting &setting) {
  const PlanRequest request = requestOf(setting);
  PlanningTarget target = llvm::cantFail(readTarget(request));
  OpGraph graph = drawStep(random, setting);
  graph.overlaps = setting.overlaps;
  if (layerCuts(graph).empty())
    return false;
  PlanningTask task = llvm::cantFail(makeTask(graph, request, target, {}, {}));
  task.fusion = fusionOf(graph, request);
  MeshChoice choice = llvm::cantFail(chooseMesh(task));
  REQUIRE(choice.best);
  const LayerMinima least = sumOf(llvm::cantFail(fastestLayers(task, 1, 10)).layers);
  CHECK(least.step <= choice.best->seconds() * (1 + rounding));
  checkParts(task, least, random);
  return least.step > 0.9 * choice.best->seconds();
}

} // namespace

TEST_CASE("Layers take no more apart than together") {
  const auto [setting, isTight] = GENERATE(table<Setting, bool>({
      {{false, 0}, true},
      {{false, std::nullopt}, true},
      {{false, 0, 4}, true},
      {{false, std::nullopt, 4}, true},
      {{false, 0, 1, true}, false}, // no layer counts the mask
      {{true, 0}, false},           // collectives hide behind ops of other layers
  }));
  INFO("overlap " << setting.overlaps << ", buckets " << setting.fusionBytes.value_or(-1) << ", "
                  << setting.microBatches << " micro-batches, masked " << setting.isMasked);
  std::mt19937_64 random(31);
  size_t numTight = 0;
  for (size_t number = 0; number < (isSanitized ? 30 : 60); ++number)
    numTight += compare(random, setting);
  CHECK((numTight > (isSanitized ? 5 : 10)) == isTight);
}

namespace {

/// A random step of four micro-batches, without pipeline: passed to `use` where it has several layers.
template <typename Use>
void withStep(std::mt19937_64 &random, Use use) {
  const PlanRequest request = requestOf({false, 0, 4});
  PlanningTarget target = llvm::cantFail(readTarget(request));
  OpGraph graph = stepInMicroBatches(random, 5, 4);
  if (!layerCuts(graph).empty())
    use(llvm::cantFail(makeTask(graph, request, target, {}, {})));
}

} // namespace

TEST_CASE("No program pays less than its layers for its seconds and its bytes") {
  std::mt19937_64 random(37);
  size_t numCosted = 0, numKept = 0;
  for (size_t number = 0; number < (isSanitized ? 30 : 120); ++number)
    withStep(random, [&](PlanningTask task) {
      int64_t bytes = 0;
      for (const GraphValue &value : task.graph.values)
        bytes += traitsOf(value.role).staysForStep ? value.shape.bytes() : 0;
      task.memoryLimitBytes = bytes * static_cast<int64_t>(1 + number % 9) / 32;
      CutStep uncut = llvm::cantFail(cutStep(task.graph, {}, /*splitsBackward=*/true));
      const OpGraph &step = uncut.stages.front().graph;
      FastestOps ops(task.pool, 3);
      const std::vector<PaidAt> kept = keptCostsOf(step, ops.secondsOf(step), task.pool.numDevices());
      const LayerBounds bounds = llvm::cantFail(fastestLayers(task, 1, 10, PassSearches::Done, kept, ops));
      numCosted += bounds.byteCosts.size();
      PlanningTask own{step,        task.request,         task.pool,   task.memoryLimitBytes,
                       task.search, PinnedOps(task.pins), task.control};
      for (const Mesh &mesh : logicalMeshes(Mesh::fromLevels(task.pool.levelSizes()), 3))
        for (unsigned draw = 0; draw < 5; ++draw) {
          llvm::Expected<Candidate> candidate = costCandidate(own, mesh, drawStrategies(step, mesh, random));
          if (!candidate) {
            llvm::consumeError(candidate.takeError()); // a value that cannot become partial
            continue;
          }
          const auto needed = static_cast<double>(candidate->cost.memory.total());
          for (auto [index, byteCost] : llvm::enumerate(bounds.byteCosts)) {
            double paid = lineBelow(kept, byteCost).paid(byteCost);
            numKept += paid > 0;
            for (const LayerMinima &layer : bounds.layers)
              paid += layer.withBytes[index];
            CHECK(paid <= (candidate->seconds() + byteCost * needed) * (1 + rounding));
          }
        }
    });
  CHECK(numCosted > (isSanitized ? 2 : 10));
  CHECK(numKept > numCosted);
}

TEST_CASE("The least of both passes leaves out the update") {
  std::mt19937_64 random(31);
  size_t numMore = 0;
  for (size_t number = 0; number < 30; ++number)
    withStep(random, [&](const PlanningTask &task) {
      const LayerMinima ofOps = sumOf(llvm::cantFail(fastestLayers(task, 1, 0)).layers);
      const LayerMinima searched = sumOf(llvm::cantFail(fastestLayers(task, 1, 10)).layers);
      CHECK(searched.microBatch >= ofOps.microBatch * (1 - rounding));
      numMore += searched.step > 1.01 * 4 * searched.microBatch;
    });
  CHECK(numMore > 5);
}

TEST_CASE("Of more than fifty layers of which no two are alike the first is searched") {
  constexpr int64_t numLayers = 56;
  GraphMaker maker;
  ValueId x = maker.source("x", {1, 256}, ValueRole::Input);
  for (int64_t layer = 0; layer < numLayers; ++layer) { // between two products every device has all columns
    const std::string name = std::to_string(layer);
    ValueId up = maker.source("up" + name, {256 + 4 * layer, 1024}, ValueRole::Parameter);
    ValueId down = maker.source("down" + name, {1024, 260 + 4 * layer}, ValueRole::Parameter);
    x = maker.matmul("second" + name, maker.alongRows("rows" + name, maker.matmul("first" + name, x, up)), down);
  }
  maker.sink(x);
  PlanRequest request = requestOf({});
  request.mode = StepMode::Infer;
  const PlanningTask task = llvm::cantFail(makeTask(maker.graph, request, llvm::cantFail(readTarget(request)), {}, {}));
  const std::vector<LayerMinima> ofOps = llvm::cantFail(fastestLayers(task, 1, 0)).layers;
  const std::vector<LayerMinima> searched = llvm::cantFail(fastestLayers(task, 1, 10)).layers;
  REQUIRE(ofOps.size() == numLayers);
  REQUIRE(searched.size() == numLayers);
  CHECK(searched.front().step > ofOps.front().step * (1 + rounding)); // the columns are gathered
  CHECK(searched.back().step == ofOps.back().step);
}

TEST_CASE("Layers that share a parameter count both passes where it is not trained") {
  std::mt19937_64 random(31);
  const PlanRequest request = requestOf({false, 0, 4});
  PlanningTarget target = llvm::cantFail(readTarget(request));
  auto numForwardAlone = [&](const OpGraph &graph) {
    PlanningTask task = llvm::cantFail(makeTask(graph, request, target, {}, {}));
    return llvm::count_if(llvm::cantFail(fastestLayers(task, 1, 0)).layers,
                          [](const LayerMinima &layer) { return layer.step <= 4 * layer.forward * (1 + rounding); });
  };
  int64_t numTrained = 0, numFrozen = 0;
  for (size_t number = 0; number < (isSanitized ? 30 : 60); ++number) {
    OpGraph graph = stepInMicroBatches(random, 5, 4);
    if (layerCuts(graph).empty())
      continue;
    numTrained += numForwardAlone(graph);
    for (GraphValue &value : graph.values)
      value.replaces.reset();
    numFrozen += numForwardAlone(graph);
  }
  CHECK(numTrained > numFrozen);
  CHECK(numFrozen == 0);
}

TEST_CASE("The fastest ops of a kernel are apart from equal ops outside of it") {
  std::mt19937_64 random(31);
  size_t numApart = 0;
  for (size_t number = 0; number < 20; ++number)
    withStep(random, [&](const PlanningTask &task) {
      OpGraph graph = task.graph;
      FastestOps before(task.pool, 3), after(task.pool, 3);
      const std::vector<double> alone = before.secondsOf(graph);
      for (size_t op = 1; op < graph.ops.size(); ++op)
        for (size_t earlier = 0; earlier < op; ++earlier)
          graph.ops[op].kernel.isReadThrough |= graph.ops[earlier].rule == graph.ops[op].rule;
      for (auto [op, seconds] : llvm::enumerate(after.secondsOf(graph))) {
        const bool isFree = graph.ops[op].kernel.isReadThrough;
        CHECK(seconds == (isFree ? 0 : alone[op]));
        numApart += isFree && alone[op] > 0;
      }
      CHECK(before.secondsOf(task.graph) == alone); // what is known is found again
    });
  CHECK(numApart > 10);
}

TEST_CASE("Bounds ask for both passes where no schedule splits the backward pass") {
  PlanRequest request = requestOf({});
  CHECK_FALSE(boundAsksForPasses(request, /*workers=*/4, /*microBatches=*/16, /*numLayers=*/8));
  CHECK_FALSE(boundAsksForPasses(request, 1, 16, 8));
  request.schedule = "1f1b";
  CHECK(boundAsksForPasses(request, 4, 16, 8));
  CHECK_FALSE(boundAsksForPasses(request, 1, 16, 8));
  request.schedule = "zb-h1";
  CHECK_FALSE(boundAsksForPasses(request, 4, 16, 8));
}

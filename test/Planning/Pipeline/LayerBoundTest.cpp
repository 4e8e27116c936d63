// The bound by layers against whole steps that hold those layers.
#include "../../../lib/Planning/Meshes/Meshes.h"
#include "../../../lib/Planning/Pipeline/Bound/PipelineBound.h"
#include "../RandomGraphs.h"

#include "apc/Graph/LayerCuts.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr double rounding = 1e-9;

struct Setting {
  bool overlaps = false;
  std::optional<int64_t> fusionBytes;
};

/// A step of several layers, on four devices of one worker. Layers take no more apart than the fastest program of the
/// step takes, which a search finds; true where the bound says something.
bool compare(std::mt19937_64 &random, const Setting &setting) {
  PlanRequest request;
  request.mode = StepMode::Train;
  request.devices = 4;
  request.cluster = "cpu-local";
  request.gapTolerance = 0;
  request.overlap = setting.overlaps;
  request.fusionBytes = setting.fusionBytes;
  PlanningTarget target = llvm::cantFail(readTarget(request));
  OpGraph graph = randomTrainingStep(random, 5);
  graph.overlaps = setting.overlaps;
  if (layerCuts(graph).empty())
    return false;
  PlanningTask task = llvm::cantFail(makeTask(graph, request, target, {}, {}));
  task.fusion = fusionOf(graph, request);
  MeshChoice choice = llvm::cantFail(chooseMesh(task));
  REQUIRE(choice.best);
  double least = llvm::cantFail(leastSecondsOfLayers(task, 1, 10));
  CHECK(least <= choice.best->seconds() * (1 + rounding));
  return least > 0.9 * choice.best->seconds();
}

} // namespace

TEST_CASE("Layers take no more apart than together") {
  const auto [setting, isTight] = GENERATE(table<Setting, bool>({
      {{false, 0}, true},
      {{false, std::nullopt}, true},
      {{true, 0}, false}, // collectives hide behind ops of other layers
  }));
  INFO("overlap " << setting.overlaps << ", buckets " << setting.fusionBytes.value_or(-1));
  std::mt19937_64 random(31);
  size_t numTight = 0;
  for (size_t number = 0; number < 60; ++number)
    numTight += compare(random, setting);
  CHECK((numTight > 10) == isTight);
}

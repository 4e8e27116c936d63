// Layouts of which some layers recompute more than the others.
#include "../../lib/Planning/Layout/MixedPolicies.h"

#include "../ValueOf.h"
#include "AnyLayout.h"

#include <catch2/catch.hpp>

#include <functional>

using namespace apc;

namespace {

constexpr int64_t layersOfModel = 96;

/// Bytes and seconds of a layer by its policy; under a limit of 1,000 bytes.
struct LayerCost {
  double seconds = 0;
  int64_t bytes = 0;
};
using CostOf = std::function<LayerCost(RecomputeChoice)>;

EvaluatedLayout layoutWith(const RecomputeSetting &setting, const CostOf &costOf) {
  EvaluatedLayout own{{512, 2, /*zero=*/3}, {}};
  own.layout.microBatch = 3;
  own.layout.recompute = setting;
  const int64_t first = setting.layers.value_or(layersOfModel);
  const LayerCost heavy = costOf(setting.policy), light = costOf(setting.rest);
  own.figures.stepSeconds =
      static_cast<double>(first) * heavy.seconds + static_cast<double>(layersOfModel - first) * light.seconds;
  own.figures.memory[MemoryCategory::Activations] = first * heavy.bytes + (layersOfModel - first) * light.bytes;
  own.figures.memoryLimitBytes = 1000;
  return own;
}

LayerCost costOfLayer(RecomputeChoice policy) {
  switch (policy) {
  case RecomputeChoice::None:
    return {1.0, 60};
  case RecomputeChoice::Norms:
    return {1.1, 11};
  default:
    return {1.3, 2};
  }
}

/// Mixes full recomputation with policies that keep more, and takes down what was tried.
struct Mixing {
  CostOf costOf = costOfLayer;
  int64_t besideAlone = 0;
  std::vector<std::string> tried = {};

  EvaluatedLayout run(llvm::ArrayRef<RecomputeSetting> lights, MayTryLayout mayTry = always) {
    std::vector<EvaluatedLayout> tooLarge;
    for (const RecomputeSetting &light : lights) {
      tooLarge.push_back(layoutWith(light, costOf));
      tooLarge.back().figures.memory[MemoryCategory::Activations] += besideAlone;
    }
    const EvaluatedLayout heavy = layoutWith(RecomputeChoice::Full, costOf);
    return valueOf(mixPolicies(
        heavy, {heavy}, tooLarge, layersOfModel, mayTry,
        [&](const ParallelDegrees &layout, std::optional<double>) -> llvm::Expected<std::optional<LayoutFigures>> {
          tried.push_back(layout.recompute->str());
          return std::optional(layoutWith(*layout.recompute, costOf).figures);
        }));
  }
};

} // namespace

TEST_CASE("As few layers as fit recompute all, and the others what costs least beside them") {
  Mixing mixing;
  const EvaluatedLayout best = mixing.run({RecomputeChoice::None, RecomputeChoice::Norms});
  CHECK(best.layout.str() == "dp=512,tp=2,zero=3,mb=3,recompute=full:7,norms"); // 7 * 2 + 89 * 11 = 993, of 6: 1,002
  CHECK(best.figures.memory.total() == 993);
  CHECK(mixing.tried.front() == "full:7,norms"); // bytes are linear; the better pair comes first
}

TEST_CASE("Fewer layers are tried where those that bytes lead to have room left, and more where they do not fit") {
  for (int64_t besideAlone : {200, -50}) { // bytes that a light policy needs alone, beside those of its layers
    Mixing mixing;
    mixing.besideAlone = besideAlone;
    const EvaluatedLayout best = mixing.run({RecomputeChoice::Norms});
    CHECK(mixing.tried.size() > 1);
    CHECK(best.layout.recompute == RecomputeSetting(RecomputeChoice::Full, 7, RecomputeChoice::Norms));
  }
}

TEST_CASE("Policies whose mix promises no less time than a known step are not mixed") {
  const EvaluatedLayout heavy = layoutWith(RecomputeChoice::Full, costOfLayer);
  const EvaluatedLayout light = layoutWith(RecomputeChoice::Norms, costOfLayer);
  for (const bool isSlower : {false, true}) {
    size_t tried = 0;
    auto tryLayout = [&](const ParallelDegrees &layout,
                         std::optional<double>) -> llvm::Expected<std::optional<LayoutFigures>> {
      ++tried;
      return std::optional(layoutWith(*layout.recompute, costOfLayer).figures);
    };
    const double known = isSlower ? heavy.figures.stepSeconds : light.figures.stepSeconds;
    llvm::cantFail(mixPolicies(heavy, {heavy}, {light}, layersOfModel, always, tryLayout, known));
    CHECK((tried > 0) == isSlower);
  }
}

TEST_CASE("A layout stays as it is where no mix is faster or allowed, and in a pipeline of one chunk") {
  Mixing slow;
  slow.costOf = [](RecomputeChoice policy) { return LayerCost{1, policy == RecomputeChoice::Full ? 2 : 11}; };
  CHECK(slow.run({RecomputeChoice::Norms}).layout.recompute == RecomputeSetting(RecomputeChoice::Full));
  CHECK(slow.tried.empty());
  Mixing refused;
  refused.run({RecomputeChoice::Norms}, [](const ParallelDegrees &) { return false; });
  CHECK(refused.tried.empty());
  EvaluatedLayout staged = layoutWith(RecomputeChoice::Full, costOfLayer);
  staged.layout.pipeline = 2;
  EvaluatedLayout light = layoutWith(RecomputeChoice::Norms, costOfLayer);
  light.layout.pipeline = 2;
  auto none = [](const ParallelDegrees &, std::optional<double>) -> llvm::Expected<std::optional<LayoutFigures>> {
    FAIL("a pipeline was tried");
    return std::nullopt;
  };
  CHECK(valueOf(mixPolicies(staged, {staged}, {light}, layersOfModel, always, none)).layout == staged.layout);
}

// Four workers have 8 chunks of three layers each: 12 layers at a time are recomputed, three of each worker. They take
// 12 * 2 + 84 * 11 = 948 bytes, and less time than the best, which has no pair.
TEST_CASE(
    "Policies are mixed for as many layers of each worker, also beside a layout that is faster than the heavy one") {
  auto staged = [](const RecomputeSetting &setting) {
    EvaluatedLayout own = layoutWith(setting, costOfLayer);
    own.layout.pipeline = 4;
    own.layout.chunks = 8;
    return own;
  };
  EvaluatedLayout best = layoutWith(RecomputeChoice::Mlp, costOfLayer);
  best.figures.stepSeconds = 115;
  std::vector<std::string> tried;
  auto tryLayout = [&](const ParallelDegrees &layout,
                       std::optional<double>) -> llvm::Expected<std::optional<LayoutFigures>> {
    tried.push_back(layout.recompute->str());
    return std::optional(staged(*layout.recompute).figures);
  };
  const EvaluatedLayout mixed = valueOf(mixPolicies(
      best, {best, staged(RecomputeChoice::Full)}, {staged(RecomputeChoice::Norms)}, layersOfModel, always, tryLayout));
  CHECK(mixed.layout.recompute == RecomputeSetting(RecomputeChoice::Full, 12, RecomputeChoice::Norms));
  CHECK(mixed.layout.pipeline == 4);
  CHECK(tried == std::vector<std::string>{"full:12,norms"});
}

// Layouts of experts: which are tried, and from which of them better ones are sought.
#include "apc/Planning/ExpertLayouts.h"

#include "../ValueOf.h"
#include "AnyLayout.h"

#include "apc/Cluster/Cluster.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <set>

using namespace apc;

namespace {

using FiguresOf = std::function<LayoutFigures(const ParallelDegrees &)>;

LayoutFigures figures(double seconds, int64_t bytes) {
  LayoutFigures own;
  own.stepSeconds = seconds;
  own.memory[MemoryCategory::Activations] = bytes;
  own.memoryLimitBytes = 100;
  return own;
}

/// Layouts of 64 devices with 512 samples, and all that were costed on the way.
struct Trials {
  std::vector<ParallelDegrees> tried;
  std::optional<int64_t> stages = {};
  AskedOfLayouts asked = {};
  int64_t batch = 512;

  std::vector<EvaluatedLayout> run(const FiguresOf &figuresOf, MayTryLayout mayImprove) {
    Pool pool = valueOf(withDevices(valueOf(loadCluster("dgx-h100")), 64)).pool;
    auto tryLayout = [&](const ParallelDegrees &layout,
                         std::optional<double>) -> llvm::Expected<std::optional<LayoutFigures>> {
      tried.push_back(layout);
      return std::optional(figuresOf(layout));
    };
    return valueOf(tryExpertLayouts(pool, {batch, /*experts=*/0, /*layers=*/0, stages, asked}, tryLayout, mayImprove));
  }
};

} // namespace

TEST_CASE("The fastest layouts of two ways of tp are improved, for one may end where the other is better") {
  // With tp=8 four chunks are the best, and tp=4 is faster with eight of them and more.
  auto figuresOf = [](const ParallelDegrees &layout) {
    const double chunks = std::log2(static_cast<double>(layout.numChunks()));
    const double seconds = layout.tensor == 8   ? 10 - 0.1 * std::min(chunks, 2.0)
                           : layout.tensor == 4 ? 12 - std::min(chunks, 4.0)
                                                : 20;
    return figures(seconds, layout.pipeline == 1 ? 200 : 50);
  };
  Trials trials;
  std::vector<std::string> fitting;
  for (const EvaluatedLayout &own : trials.run(figuresOf, always))
    fitting.push_back(own.layout.str());
  CHECK(llvm::is_contained(fitting, "dp=4,tp=8,pp=2,zero=1,mb=1,chunks=4,recompute=none"));
  CHECK(llvm::is_contained(fitting, "dp=8,tp=4,pp=2,zero=1,mb=1,chunks=16,recompute=none"));
  for (const ParallelDegrees &layout : trials.tried)
    CHECK(llvm::count(trials.tried, layout) == 1);
  // Without leave to improve them, layouts of experts stay as they are.
  for (const EvaluatedLayout &own : Trials().run(figuresOf, {}))
    CHECK(own.layout.numChunks() <= 2);
}

TEST_CASE("No more workers are tried where twice as many need about as much memory") {
  // Recomputed, two workers fit; as many values as a worker keeps are in flight, so that nothing else ever does.
  auto figuresOf = [](const ParallelDegrees &layout) {
    const bool isRecomputed = layout.recompute->policy == RecomputeChoice::Full;
    return figures(10, (isRecomputed ? 20 : 120) + 200 / (layout.pipeline * layout.pipeline));
  };
  Trials trials;
  CHECK(llvm::all_of(trials.run(figuresOf, {}), [](const EvaluatedLayout &own) {
    return own.layout.pipeline == 2 && own.layout.recompute->policy == RecomputeChoice::Full;
  }));
  std::map<int64_t, int64_t> workers;
  for (const ParallelDegrees &layout : trials.tried)
    workers[layout.tensor] = std::max(workers[layout.tensor], layout.pipeline);
  CHECK(workers == std::map<int64_t, int64_t>{{8, 8}, {4, 8}, {2, 8}, {1, 8}}); // 320, 170, 132 and 123 bytes
}

TEST_CASE("No more workers are tried where twice as many fit and take longer") {
  // Two chunks never fit, so that memory binds with any number of workers.
  auto figuresOf = [](const ParallelDegrees &layout) {
    return figures(10 + 0.1 * static_cast<double>(layout.pipeline),
                   layout.pipeline == 1 || layout.numChunks() > 1 ? 200 : 50);
  };
  Trials trials;
  trials.run(figuresOf, {});
  for (const ParallelDegrees &layout : trials.tried)
    CHECK(layout.pipeline <= 4);
  CHECK(llvm::any_of(trials.tried, [](const ParallelDegrees &layout) { return layout.pipeline == 4; }));
}

TEST_CASE("No more workers are tried than the model has stages") {
  Trials trials;
  trials.stages = 12;
  trials.run([](const ParallelDegrees &layout) { return figures(10, 200 + 1000 / layout.pipeline); }, {});
  for (const ParallelDegrees &layout : trials.tried)
    CHECK(layout.pipeline <= 12);
  CHECK(llvm::any_of(trials.tried, [](const ParallelDegrees &layout) { return layout.pipeline == 8; }));
}

TEST_CASE("Where nothing fits without a pipeline or recomputation, weights are cut on all devices") {
  auto figuresOf = [](const ParallelDegrees &layout) {
    const bool isSmall = layout.pipeline > 1 || (layout.zero == 3 && layout.recompute->policy == RecomputeChoice::Full);
    return figures(layout.zero == 3 ? 5 : 10, isSmall ? 50 : 200);
  };
  Trials trials;
  CHECK(llvm::any_of(trials.run(figuresOf, always), [](const EvaluatedLayout &own) {
    return own.layout.str() == "dp=64,tp=1,zero=3,mb=8,recompute=full"; // in one micro-batch
  }));
  Trials whole;
  whole.run(figuresOf, [](const ParallelDegrees &layout) { return layout.zero < 3; });
  CHECK(llvm::none_of(whole.tried, [](const ParallelDegrees &layout) { return layout.zero == 3; }));
}

TEST_CASE(
    "Where nothing fits with whole weights, they are cut, in as few micro-batches as fit, by what divides the batch") {
  auto figuresOf = [](const ParallelDegrees &layout) {
    const bool isSmall =
        layout.zero == 3 && layout.microBatch == 1 && layout.recompute->policy == RecomputeChoice::Full;
    return figures(layout.tensor, isSmall ? 50 : 200);
  };
  Trials trials;
  trials.asked.workers = 1;
  trials.batch = 96; // of which 64 ranks cannot have equal parts
  const std::vector<EvaluatedLayout> fitting = trials.run(figuresOf, always);
  REQUIRE(fitting.size() == 1);
  CHECK(fitting.front().layout.str() == "dp=32,tp=2,zero=3,mb=1,recompute=full");
  CHECK(llvm::any_of(trials.tried, [](const ParallelDegrees &own) { return own.zero == 3 && own.microBatch == 3; }));
  Trials stateful;
  stateful.asked.workers = 1;
  stateful.run(
      [&](const ParallelDegrees &layout) {
        LayoutFigures own = figuresOf(layout);
        own.memory[MemoryCategory::Optimizer] = 150; // on every device, however weights are cut
        return own;
      },
      always);
  CHECK(llvm::none_of(stateful.tried, [](const ParallelDegrees &own) { return own.zero == 3; }));
  Trials known; // layouts that are not improved are none that a plan begins with
  known.asked.workers = 1;
  CHECK(known.run(figuresOf, {}).empty());
}

TEST_CASE("Workers whose weights fill half of the memory are left out where twice as many are possible") {
  auto figuresOf = [](const ParallelDegrees &layout) {
    LayoutFigures own = figures(10, layout.pipeline == 1 ? 200 : 20);
    own.memory[MemoryCategory::Parameters] = 1200 / layout.tensor / layout.pipeline; // 75 of two workers with tp=8
    return own;
  };
  Trials trials;
  std::vector<EvaluatedLayout> fitting = trials.run(figuresOf, {});
  CHECK(fitting.front().layout.str() == "dp=2,tp=8,pp=4,zero=1,mb=1,recompute=none");
  CHECK(llvm::none_of(trials.tried, [](const ParallelDegrees &own) { return own.tensor == 8 && own.pipeline == 2; }));
}

TEST_CASE("Of ways of tp at which an improvement ended, other layouts are tried last") {
  // Slower with tp=8, where the improvement begins, than with tp=4, where it ends.
  auto figuresOf = [](const ParallelDegrees &layout) {
    return figures(layout.tensor == 4 ? 9 : 10, layout.pipeline == 1 ? 200 : 50);
  };
  Trials trials;
  trials.run(figuresOf, always);
  auto isFull = [](const ParallelDegrees &layout) { return layout.recompute->policy == RecomputeChoice::Full; };
  std::vector<int64_t> recomputed;
  for (const ParallelDegrees &own : trials.tried)
    if (isFull(own) && own.zero == 1)
      recomputed.push_back(own.tensor);
  CHECK(recomputed == std::vector<int64_t>{8, 2, 1, 4});
}

TEST_CASE("A layout that did not fit beside a faster step is costed again beside a slower one") {
  // Fits only where a way is sought: where the step that is known is slower than its 10.5 seconds. The improvement of
  // tp=8 knows of 10 seconds, that of tp=4 of 11.
  const std::string asked = "dp=8,tp=4,pp=2,zero=1,mb=1,chunks=4,recompute=none";
  std::vector<double> known;
  Pool pool = valueOf(withDevices(valueOf(loadCluster("dgx-h100")), 64)).pool;
  auto tryLayout = [&](const ParallelDegrees &layout,
                       std::optional<double> step) -> llvm::Expected<std::optional<LayoutFigures>> {
    if (layout.pipeline != 2 || layout.recompute->policy != RecomputeChoice::None || layout.numChunks() > 4)
      return std::optional(figures(99, 200));
    const double chunks = static_cast<double>(layout.numChunks());
    if (layout.str() != asked)
      return std::optional(figures(layout.tensor == 8 ? 10.5 - 0.125 * chunks : 11.5 - 0.25 * chunks, 50));
    known.push_back(step.value_or(HUGE_VAL));
    return std::optional(figures(10.5, step && *step <= 10.5 ? 200 : 50));
  };
  CHECK(!valueOf(tryExpertLayouts(pool, {512}, tryLayout, always)).empty());
  CHECK(known == std::vector<double>{10, 11});
}

TEST_CASE("Layouts of experts have all numbers that are asked for, from the first to those that are improved") {
  Trials trials;
  trials.asked = {/*workers=*/4, /*chunks=*/2, /*microBatch=*/16, RecomputeSetting(RecomputeChoice::Norms), /*zero=*/0};
  // 2 of tp are the fastest, so that the others are improved.
  auto figuresOf = [](const ParallelDegrees &layout) { return figures(layout.tensor == 2 ? 1 : 2, 50); };
  trials.run(figuresOf, always);
  std::set<int64_t> tensor;
  for (const ParallelDegrees &own : trials.tried) {
    tensor.insert(own.tensor);
    CHECK(own.pipeline % 2 == 0);
    CHECK(own.numChunks() == 2);
    CHECK(own.data * *own.microBatch == 16);
    CHECK(own.recompute == RecomputeSetting(RecomputeChoice::Norms));
    CHECK(own.zero == 0);
  }
  CHECK(tensor == std::set<int64_t>{1, 2, 4, 8});
}

TEST_CASE("Weights in pieces come in the micro-batch that is asked for, and not where their stage is not allowed") {
  Trials trials;
  trials.asked.workers = 1;
  trials.asked.microBatch = 192; // 3 on each device, which no halving of 9 comes to
  trials.batch = 576;
  auto figuresOf = [](const ParallelDegrees &layout) { return figures(1, layout.zero == 3 ? 50 : 200); };
  auto fitting = trials.run(figuresOf, always);
  REQUIRE(!fitting.empty());
  CHECK(fitting.front().layout.zero == 3);
  CHECK(fitting.front().layout.microBatch == 3);
  trials.asked.zero = 2;
  CHECK(trials.run(figuresOf, always).empty());
}

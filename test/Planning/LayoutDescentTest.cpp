// Layouts that are improved by one change after the other.
#include "../../lib/Planning/Layout/LayoutDescent.h"
#include "../../lib/Planning/Layout/MixedPolicies.h"
#include "AnyLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

namespace {

constexpr int64_t most = 8; ///< ways of tp

double log2Of(int64_t number) { return std::log2(static_cast<double>(number)); }

/// A step that is fastest with tp=4, pp=8, 6 chunks and 2 samples, and slower the farther a layout is from there; a
/// policy that keeps less takes more time. Bytes grow with the samples.
LayoutFigures figuresOf(const ParallelDegrees &layout) {
  LayoutFigures figures;
  figures.memoryLimitBytes = 100;
  figures.isByMemory = true;
  const int64_t samples = layout.microBatch.value_or(1);
  figures.stepSeconds = 10 + std::abs(log2Of(layout.tensor) - 2) + std::abs(log2Of(layout.pipeline) - 3) +
                        std::abs(std::log2(static_cast<double>(layout.numChunks()) / 6)) +
                        std::abs(log2Of(samples) - 1);
  const RecomputeChoice policy = layout.recompute ? layout.recompute->policy : RecomputeChoice::None;
  figures.stepSeconds += 0.1 * static_cast<double>(policy);
  figures.memory[MemoryCategory::Activations] = (policy == RecomputeChoice::None ? 60 : 40) * samples;
  return figures;
}

/// Layouts that were tried, and what was known then.
struct DescentTrials {
  std::vector<ParallelDegrees> tried;
  std::vector<double> known;

  bool isByMemory = true; ///< of all layouts
  StepSizes step = {1536};

  llvm::Expected<EvaluatedLayout> improve(const ParallelDegrees &from, MayTryLayout mayTry) {
    auto own = [&](const ParallelDegrees &layout) {
      LayoutFigures figures = figuresOf(layout);
      figures.isByMemory = isByMemory;
      return figures;
    };
    return improveLayout({from, own(from)}, step, most, mayTry,
                         [&](const ParallelDegrees &layout,
                             std::optional<double> knownSeconds) -> llvm::Expected<std::optional<LayoutFigures>> {
                           tried.push_back(layout);
                           known.push_back(knownSeconds.value_or(0));
                           return std::optional(own(layout));
                         });
  }
};

/// dp=128,tp=8, and a pipeline of one chunk on as many devices.
ParallelDegrees start() {
  ParallelDegrees layout{64, 8, /*zero=*/1};
  layout.pipeline = 2;
  layout.microBatch = 1;
  return layout;
}

std::vector<ParallelDegrees> allNeighboursOf(const ParallelDegrees &layout, const StepSizes &step) {
  std::vector<ParallelDegrees> all;
  for (LayoutChange change : layoutChanges)
    llvm::append_range(all, neighboursOf(layout, change, step, most));
  return all;
}

/// The last of the layouts that follow \p from, which takes as long as \p figuresOf says, and those that were \p tried.
std::string lastFrom(const ParallelDegrees &from, llvm::function_ref<LayoutFigures(const ParallelDegrees &)> figuresOf,
                     MayTryLayout mayTry, std::vector<ParallelDegrees> &tried) {
  auto tryOne = [&](const ParallelDegrees &layout,
                    std::optional<double>) -> llvm::Expected<std::optional<LayoutFigures>> {
    tried.push_back(layout);
    return std::optional(figuresOf(layout));
  };
  return llvm::cantFail(improveLayout({from, figuresOf(from)}, {1536}, most, mayTry, tryOne)).layout.str();
}

} // namespace

TEST_CASE("A descent ends at the layout that none beside it is faster than") {
  DescentTrials trials;
  EvaluatedLayout last = llvm::cantFail(trials.improve(start(), always));
  CHECK(last.layout.str() == "dp=32,tp=4,pp=8,zero=1,mb=2,chunks=6,recompute=norms"); // with all kept, 120 bytes
  CHECK(last.figures.stepSeconds == figuresOf(last.layout).stepSeconds);
  CHECK(last.figures.fits());
  for (const ParallelDegrees &beside : allNeighboursOf(last.layout, {1536})) {
    const LayoutFigures figures = figuresOf(beside);
    CHECK((figures.stepSeconds >= last.figures.stepSeconds || !figures.fits()));
    CHECK(llvm::is_contained(trials.tried, beside) == beside.schedule.empty()); // without a bubble nothing is split
  }
  for (const ParallelDegrees &layout : trials.tried)
    CHECK(llvm::count(trials.tried, layout) == 1);
  CHECK(llvm::is_sorted(trials.known, std::greater<>())); // each better than the one before
  CHECK(trials.known.back() == last.figures.stepSeconds);
}

// Of 8 workers with two chunks the first keeps 23 of them, 7 less with the short warm-up: 60 of 115 bytes are
// activations, and 97 would be left.
TEST_CASE("Interleaved stages that nearly fit are tried with the short warm-up, which keeps less") {
  auto lastOf = [](int64_t heldBytes, double shortSeconds, std::vector<ParallelDegrees> &tried) {
    auto own = [&](const ParallelDegrees &layout) {
      LayoutFigures figures;
      figures.memoryLimitBytes = 100;
      figures.stepSeconds = layout.numChunks() == 2 ? 9 : 10;
      figures.memory[MemoryCategory::Parameters] = heldBytes;
      figures.memory[MemoryCategory::Activations] = layout.numChunks() == 2 ? 60 : 30;
      if (layout.schedule == "interleaved-short") {
        figures.stepSeconds += shortSeconds;
        figures.memory[MemoryCategory::Activations] = 42;
      }
      return figures;
    };
    ParallelDegrees from = start();
    from.pipeline = 8;
    from.data = 16;
    auto mayTry = [&](const ParallelDegrees &layout) {
      return layout.pipeline == 8 && layout.numChunks() <= 2 && policyOf(layout) == RecomputeChoice::None;
    };
    return lastFrom(from, own, mayTry, tried);
  };
  auto isShort = [](const ParallelDegrees &layout) { return layout.schedule == "interleaved-short"; };
  const std::string withoutChunks = "dp=16,tp=8,pp=8,zero=1,mb=1";
  std::vector<ParallelDegrees> nearly, slower, far;
  CHECK(lastOf(55, 0.5, nearly) == withoutChunks + ",chunks=2,schedule=interleaved-short");
  CHECK(llvm::any_of(nearly, isShort));
  CHECK(lastOf(55, 1.5, slower) == withoutChunks);
  CHECK(llvm::any_of(slower, isShort));
  CHECK(lastOf(65, 0.5, far) == withoutChunks);
  CHECK(llvm::none_of(far, isShort));
}

// Whole passes leave a bubble beside 8 s of work, split ones half of it; two chunks halve it again. A sample takes 30
// bytes of 100, or more where passes are split.
TEST_CASE("Backward passes are split where whole ones leave a bubble that is worth it, and other things tried again") {
  auto lastOf = [](double bubble, int64_t splitBytes, std::vector<ParallelDegrees> &tried) {
    auto own = [&](const ParallelDegrees &layout) {
      const bool isSplit = layout.schedule == "interleaved-zb" || layout.schedule == "zb-h1";
      LayoutFigures figures;
      figures.memoryLimitBytes = 100;
      figures.bubbleSeconds = bubble / (isSplit ? 2 : 1) / (isSplit && layout.numChunks() == 2 ? 2 : 1);
      figures.stepSeconds = 8 + figures.bubbleSeconds + (layout.microBatch == 2 ? 0 : 0.5);
      figures.memory[MemoryCategory::Activations] = (isSplit ? splitBytes : 30) * layout.microBatch.value_or(1);
      return figures;
    };
    ParallelDegrees from = start();
    from.pipeline = 8;
    from.data = 16;
    from.microBatch = 2;
    auto mayTry = [&](const ParallelDegrees &layout) {
      return layout.pipeline == 8 && layout.numChunks() <= 2 && policyOf(layout) == RecomputeChoice::None &&
             layout.tensor == 8 && layout.microBatch.value_or(1) <= 2;
    };
    return lastFrom(from, own, mayTry, tried);
  };
  auto isSplit = [](const ParallelDegrees &layout) { return layout.schedule == "zb-h1"; };
  std::vector<ParallelDegrees> fitting, large, small;
  CHECK(lastOf(/*bubble=*/2, /*splitBytes=*/45, fitting) ==
        "dp=16,tp=8,pp=8,zero=1,mb=2,chunks=2,schedule=interleaved-zb");
  CHECK(llvm::any_of(fitting, isSplit)); // from there to chunks, which help split passes alone
  CHECK(lastOf(/*bubble=*/2, /*splitBytes=*/60, large) == "dp=16,tp=8,pp=8,zero=1,mb=2");
  CHECK(llvm::any_of(large, isSplit)); // which does not fit
  CHECK(lastOf(/*bubble=*/0.05, /*splitBytes=*/45, small) == "dp=16,tp=8,pp=8,zero=1,mb=2");
  CHECK(llvm::none_of(small, isSplit));
}

// With twice the samples a step takes half as long, and fits where everything is recomputed.
TEST_CASE("A layout that is much faster but does not fit is tried with everything recomputed, too") {
  auto lastOf = [](double secondsOfTwo) {
    auto own = [&](const ParallelDegrees &layout) {
      LayoutFigures figures;
      figures.memoryLimitBytes = 100;
      const bool isFull = policyOf(layout) == RecomputeChoice::Full;
      figures.stepSeconds = (layout.microBatch == 2 ? secondsOfTwo : 10) * (isFull ? 1.3 : 1);
      figures.memory[MemoryCategory::Activations] = layout.microBatch == 2 && !isFull ? 120 : 60;
      return figures;
    };
    auto tryOne = [&](const ParallelDegrees &layout,
                      std::optional<double>) -> llvm::Expected<std::optional<LayoutFigures>> {
      return std::optional(own(layout));
    };
    auto mayTry = [&](const ParallelDegrees &layout) { return layout.pipeline == 2 && layout.microBatch <= 2; };
    return llvm::cantFail(improveLayout({start(), own(start())}, {1536}, most, mayTry, tryOne)).layout;
  };
  CHECK(lastOf(5).microBatch == 2);
  CHECK(policyOf(lastOf(5)) == RecomputeChoice::Full);
  CHECK(lastOf(9).microBatch == 1);
}

TEST_CASE("No policy that keeps less is tried beside a layout that memory costs no time") {
  auto policiesOfLast = [](bool isByMemory) {
    DescentTrials trials;
    trials.isByMemory = isByMemory;
    // One sample: everything fits, and nothing has to be recomputed.
    auto oneSample = [](const ParallelDegrees &layout) { return layout.microBatch == 1; };
    ParallelDegrees last = llvm::cantFail(trials.improve(start(), oneSample)).layout;
    CHECK(!last.recompute);
    return llvm::count_if(trials.tried, [](const ParallelDegrees &layout) {
      return layout.recompute && layout.recompute->policy != RecomputeChoice::None;
    });
  };
  CHECK(policiesOfLast(/*isByMemory=*/false) == 0);
  CHECK(policiesOfLast(/*isByMemory=*/true) == 3); // norms, mlp and full, beside the last
}

TEST_CASE("A chunk of one layer each is the first that a descent tries") {
  DescentTrials trials;
  trials.step.layers = 96;
  auto twoWorkers = [](const ParallelDegrees &layout) { return layout.pipeline == 2 && layout.tensor == 8; };
  EvaluatedLayout last = llvm::cantFail(trials.improve(start(), twoWorkers));
  CHECK(trials.tried.front().numChunks() == 48);
  CHECK(last.layout.numChunks() == 6); // the fastest, found from one chunk, for 48 are slower
}

TEST_CASE("A descent keeps to the layouts that are allowed") {
  DescentTrials trials;
  auto twoWorkers = [](const ParallelDegrees &layout) { return layout.pipeline == 2 && layout.numChunks() <= 2; };
  EvaluatedLayout last = llvm::cantFail(trials.improve(start(), twoWorkers));
  CHECK(last.layout.str() == "dp=128,tp=4,pp=2,zero=1,mb=2,chunks=2,recompute=norms");
  CHECK(llvm::all_of(trials.tried, twoWorkers));
}

TEST_CASE("Layouts beside another one fill the devices and cut the batch evenly") {
  ParallelDegrees layout = start();
  layout.experts = 8;
  for (const ParallelDegrees &beside : allNeighboursOf(layout, {1536, /*experts=*/8})) {
    INFO(beside.str());
    CHECK(beside.numDevices() == layout.numDevices());
    CHECK(1536 % (beside.data * beside.microBatch.value_or(1)) == 0);
    CHECK(beside.tensor <= most);
    CHECK(beside.experts == 8);
    CHECK(!(beside == layout));
  }
  CHECK(allNeighboursOf(layout, {64}).size() < allNeighboursOf(layout, {1536}).size()); // 64 samples for dp=64
}

TEST_CASE("A descent stays where nothing beside it can be costed") {
  auto none = [](const ParallelDegrees &, std::optional<double>) -> llvm::Expected<std::optional<LayoutFigures>> {
    return std::nullopt;
  };
  const ParallelDegrees from = start();
  CHECK(llvm::cantFail(improveLayout({from, figuresOf(from)}, {1536}, most, always, none)).layout == from);
}

TEST_CASE("Weights are cut where there is one worker, and whole again in a pipeline") {
  ParallelDegrees layout{128, 8, /*zero=*/1};
  auto beside = [](const ParallelDegrees &from, LayoutChange change) {
    return neighboursOf(from, change, {1536}, most);
  };
  REQUIRE(beside(layout, LayoutChange::Storage).size() == 1);
  const ParallelDegrees cut = beside(layout, LayoutChange::Storage).front();
  CHECK(cut.str() == "dp=128,tp=8,zero=3");
  CHECK(beside(cut, LayoutChange::Storage).front() == layout);
  CHECK(beside(cut, LayoutChange::Workers).front().zero == 1);
  CHECK(beside(start(), LayoutChange::Storage).empty());
}

TEST_CASE("Experts are left whole beside tp, on ranks of tp too, and cut by it again") {
  const StepSizes mixture{1536, /*experts=*/8};
  auto besideOf = [&](const ParallelDegrees &layout, LayoutChange change) {
    return neighboursOf(layout, change, mixture, /*mostTensor=*/8);
  };
  const ParallelDegrees cut{.data = 4, .tensor = 4, .zero = 1, .microBatch = 1, .experts = 4};
  REQUIRE(besideOf(cut, LayoutChange::Experts).size() == 1);
  const ParallelDegrees whole = besideOf(cut, LayoutChange::Experts).front();
  CHECK(whole.str() == "dp=4,tp=4,ep=8,etp=1,zero=1,mb=1");
  CHECK(besideOf(whole, LayoutChange::Experts).front() == cut);
  for (const ParallelDegrees &other : besideOf(whole, LayoutChange::Tensor))
    CHECK((other.experts == 8 && other.hasWholeExperts()));
  ParallelDegrees two = whole;
  two.tensor = 2;
  CHECK(besideOf(two, LayoutChange::Tensor).front().str() == "dp=8,tp=1,ep=8,zero=1,mb=1");
  ParallelDegrees alone = cut;
  alone.tensor = 1;
  CHECK(besideOf(alone, LayoutChange::Experts).empty());
  CHECK(neighboursOf(cut, LayoutChange::Experts, {1536}, /*mostTensor=*/8).empty()); // a model without experts
}

TEST_CASE("Layouts beside another one keep the micro-batch that is asked for, whatever dp has of it") {
  StepSizes step{1536};
  step.asked.microBatch = 64;
  for (const ParallelDegrees &own : allNeighboursOf(start(), step))
    CHECK(own.data * *own.microBatch == 64);
  CHECK(llvm::any_of(allNeighboursOf(start(), step), [](const ParallelDegrees &own) { return own.microBatch == 2; }));
  step.asked.microBatch = 96; // on 64 ranks
  CHECK_FALSE(asAsked(start(), step));
  step.batch = 100;
  step.asked.microBatch = 64;
  CHECK_FALSE(asAsked(start(), step));
}

TEST_CASE("A layout in the copies that are asked for has samples for each of them") {
  StepSizes step{1536};
  step.asked.copies = 2;
  CHECK(asAsked(start(), step)->str() == "dp=64,tp=8,pp=2,zero=1,mb=2,copies=2");
  for (const ParallelDegrees &own : allNeighboursOf(start(), step)) {
    CHECK(own.copies == 2);
    CHECK(*own.microBatch % 2 == 0);
  }
  step.asked.microBatch = 128;
  CHECK(asAsked(start(), step)->microBatch == 2);
  step.asked.microBatch = 64;
  CHECK_FALSE(asAsked(start(), step));
  step.asked.microBatch.reset();
  step.batch = 64; // a sample on each rank
  CHECK_FALSE(asAsked(start(), step));
}

TEST_CASE("A layout under the schedule that is asked for has chunks that it takes") {
  StepSizes step{1536};
  auto asked = [&](const char *schedule) {
    step.asked.schedule = schedule;
    return asAsked(start(), step)->str();
  };
  CHECK(asked("1f1b") == start().str());
  CHECK(asked("zb-v") == "dp=64,tp=8,pp=2,zero=1,mb=1,chunks=2,schedule=zb-v");
  CHECK(asked("interleaved") == "dp=64,tp=8,pp=2,zero=1,mb=1,chunks=2");
  CHECK(asked("zb-h1") == "dp=64,tp=8,pp=2,zero=1,mb=1,schedule=zb-h1");
  step.asked.chunks = 3;
  CHECK(asked("interleaved") == "dp=64,tp=8,pp=2,zero=1,mb=1,chunks=3");
  ParallelDegrees alone = start();
  alone.pipeline = 1;
  alone.data = 128;
  CHECK(asAsked(alone, step) == alone);
}

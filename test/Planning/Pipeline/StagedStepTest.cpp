// Stages that are planned in a little less memory than others, which they follow, need.
#include "../../../lib/Planning/Pipeline/StagedStep.h"
#include "../../../lib/Planning/Pipeline/BalancedCuts.h"
#include "../../../lib/Planning/Pipeline/Workers/WorkerPools.h"
#include "../RandomGraphs.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A step in eight micro-batches under 1f1b on two workers of two devices each.
struct Staged {
  explicit Staged(unsigned seed) : random(seed), graph(stepInMicroBatches(random, 8, 8)) {
    request.mode = StepMode::Train;
    request.devices = 4;
    request.cluster = "cpu-local";
    request.pipeline = {2};
    request.chunks = {1};
    request.schedule = "1f1b";
  }

  /// Within so many bytes on a device, by default all that there are; stages follow those of \p known.
  PipelineTrial plan(std::optional<int64_t> limitBytes, llvm::ArrayRef<StageAnswers::Answer> known) {
    request.memoryLimitBytes = limitBytes;
    const PlanningTarget target = llvm::cantFail(readTarget(request));
    const PlanningTask task = llvm::cantFail(makeTask(graph, request, target, {}, {}));
    const WorkerPools workers = WorkerPools::equal(task.pool, 2);
    const std::vector<size_t> cuts = llvm::cantFail(balancedCuts(graph, workers, 2));
    auto patterns = std::make_shared<StagePatterns>();
    for (const StageAnswers::Answer &own : known)
      patterns->add(own);
    auto steps = llvm::cantFail(StagedStep::make(task, workers, cuts, /*splitsBackward=*/false, patterns));
    auto points = llvm::cantFail(pipelinePoints(request, 2, 1, 8));
    return llvm::cantFail(steps->plan(points.front(), known.empty() ? MeshesToSearch::All : MeshesToSearch::OfPattern));
  }

  std::mt19937_64 random;
  OpGraph graph;
  PlanRequest request;
};

} // namespace

// The program that is found for one stage fills its share of the memory, and a stage that follows it needs a little
// more than there is. In less memory another one is found that takes as long.
TEST_CASE("Where stages need up to a twentieth more than there is, they are searched again in less memory") {
  for (unsigned seed : {3, 9, 23, 45, 61, 125}) {
    INFO("step " << seed);
    Staged staged(seed);
    PipelineTrial whole = staged.plan(std::nullopt, {});
    REQUIRE(whole.fits());
    const int64_t bytes = fullestBytes(*whole.answer);
    for (int64_t percent : {98, 97}) {
      PipelineTrial less = staged.plan(bytes * percent / 100, whole.answer->stages);
      INFO(percent << " %: " << less.reason);
      REQUIRE(less.fits());
      CHECK(fullestBytes(*less.answer) <= bytes * percent / 100);
      CHECK(less.answer->time.stepSeconds == Approx(whole.answer->time.stepSeconds));
    }
  }
}

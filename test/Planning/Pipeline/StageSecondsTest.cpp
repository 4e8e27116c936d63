// Stages as a pipeline to simulate.
#include "../../../lib/Planning/Pipeline/StageSeconds.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Updates wait for all workers where gradients are clipped, or where a loss scale looks at all of them") {
  PlanRequest request;
  request.schedule = "1f1b";
  // The second worker ends after 1 + 2 + 2 * 3 s, the first one 2 s later; the second one's update takes longer.
  const std::vector<PlanStageSeconds> seconds = {{1, 1, 1, 1}, {2, 0.5, 0.5, 10}};
  const std::vector<PlanTransfer> transfers = {{"x", 0, {1}, "forward", 0, 0}};
  auto stepSeconds = [&] {
    std::vector<PipelinePoint> points = llvm::cantFail(pipelinePoints(request, 2, 1, 2));
    REQUIRE(points.size() == 1);
    return llvm::cantFail(points.front().simulator.run(pipelineWork(points.front(), seconds, transfers))).stepSeconds;
  };
  CHECK(stepSeconds() == 1 + 2 * 3 + 10);
  request.clipNorm = 1;
  CHECK(stepSeconds() == 1 + 2 * 3 + 2 + 10);
  request.clipNorm.reset();
  request.precision = PrecisionChoice::Fp16;
  CHECK(stepSeconds() == 1 + 2 * 3 + 2 + 10);
}

TEST_CASE("An update waits for sums that later stages hand on once a step, and those do not wait for it") {
  PlanRequest request;
  request.schedule = "1f1b";
  std::vector<PipelinePoint> points = llvm::cantFail(pipelinePoints(request, 2, 1, 2));
  // The second worker ends after 7 s, the first one after 9 s.
  const std::vector<PlanStageSeconds> seconds = {{1, 1, 1, 1}, {2, 0.5, 0.5, 1}};
  std::vector<PlanTransfer> transfers = {{"x", 0, {1}, "forward", 0, 0}, {"sum", 1, {0}, "step", 0, 5}};
  auto finishes = [&] {
    PipelineTime time = llvm::cantFail(points.front().simulator.run(pipelineWork(points.front(), seconds, transfers)));
    return std::pair(time.workers[0].finishSeconds, time.workers[1].finishSeconds);
  };
  CHECK(finishes() == std::pair(7 + 5 + 1.0, 7 + 1.0));
  transfers.back().seconds = 1; // hidden
  CHECK(finishes() == std::pair(9 + 1.0, 7 + 1.0));
  transfers.push_back({"weight", 0, {1}, "step", 0, 4}); // sent with the step's other work
  CHECK(finishes() == std::pair(9 + 1 + 4.0, 7 + 1.0));
}

TEST_CASE("A worker computes nothing while it sends where its runtime waits for transfers") {
  PlanRequest request;
  request.schedule = "1f1b";
  const std::vector<PlanStageSeconds> seconds = {{1, 1, 1, 0}, {2, 1, 1, 0}};
  const std::vector<PlanTransfer> transfers = {{"x", 0, {1}, "forward", 0, 1}, {"x.grad", 1, {0}, "backward", 0, 1}};
  auto stepSeconds = [&] {
    std::vector<PipelinePoint> points = llvm::cantFail(pipelinePoints(request, 2, 1, 2));
    return llvm::cantFail(points.front().simulator.run(pipelineWork(points.front(), seconds, transfers))).stepSeconds;
  };
  // The second worker begins after 2 s, computes for 2 * 4 s, and its last gradient takes 1 + 2 s on the first.
  CHECK(stepSeconds() == 2 + 8 + 1 + 2);
  request.runtime = "megatron-2021"; // the second worker also sends its first gradient before it goes on
  CHECK(stepSeconds() == 2 + 8 + 1 + 1 + 2);
  request.runtime = "megatron-2023";
  CHECK(stepSeconds() == 2 + 8 + 1 + 2);
}

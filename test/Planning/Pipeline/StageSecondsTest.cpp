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

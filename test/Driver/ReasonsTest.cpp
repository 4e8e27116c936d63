// Sensitivity: the plan of a cluster whose figures are a fifth smaller or larger.
#include "Samples.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("sensitivity plans again with each figure a fifth down and up") {
  PlanRequest request = requestOf({"tiny/gpt/model.onnx", 4, "cpu-local"});
  request.sensitivity = true;
  llvm::Expected<Plan> plan = planModel(request, controlOf());
  REQUIRE(bool(plan));
  REQUIRE(plan->sensitivity.size() == 8);
  for (size_t row = 0; row < 8; row += 2) {
    const PlanSensitivity &down = plan->sensitivity[row], &up = plan->sensitivity[row + 1];
    INFO(down.figure);
    CHECK(down.figure == up.figure);
    CHECK(down.scale == 0.8);
    CHECK(up.scale == 1.2);
    REQUIRE(down.stepSeconds);
    REQUIRE(up.stepSeconds);
    CHECK(*down.stepSeconds >= plan->stepSeconds * 0.999);
    CHECK(*up.stepSeconds <= plan->stepSeconds * 1.001);
  }
}

TEST_CASE("where a figure decides whether anything fits, sensitivity says why nothing does") {
  PlanRequest request = requestOf({"tiny/gpt/model.onnx", 2, "cpu-local"});
  int64_t limit = planOf({"tiny/gpt/model.onnx", 2, "cpu-local"}).memory.total();
  auto aFifthLess = [&] { return static_cast<int64_t>(0.8 * static_cast<double>(limit)); };
  auto isFeasible = [&](int64_t bytes) {
    request.memoryLimitBytes = bytes;
    llvm::Expected<Plan> plan = planModel(request, controlOf());
    return plan ? true : (llvm::consumeError(plan.takeError()), false);
  };
  // Down to a limit under which something fits while nothing fits a fifth below it.
  while (isFeasible(aFifthLess()))
    limit = aFifthLess();
  request.memoryLimitBytes = limit;
  request.sensitivity = true;
  llvm::Expected<Plan> plan = planModel(request, controlOf());
  REQUIRE(bool(plan));
  auto less = llvm::find_if(plan->sensitivity, [](const PlanSensitivity &row) {
    return row.figure == "device.memory_bytes" && row.scale < 1;
  });
  REQUIRE(less != plan->sensitivity.end());
  CHECK(!less->stepSeconds);
  CHECK_THAT(less->reason, Catch::Contains("no plan fits"));
}

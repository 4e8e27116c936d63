// What would have to change in the cluster, and whether it then is so.
#include "PlanRequests.h"

#include "apc/Driver/EvaluateLayout.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

namespace {

/// ResNet-50 cut along its batch, which leaves no op a choice: reasons can be compared between clusters.
Plan dataParallel(std::vector<std::string> overrides) {
  PlanOptions options = optionsOf({"resnet50.onnx", 8});
  options.clusterOverrides = std::move(overrides);
  llvm::Expected<Plan> plan = evaluateLayout(options, {8, 1, 0});
  if (plan)
    return std::move(*plan);
  FAIL(takeMessage(plan.takeError()).second);
  return {};
}

} // namespace

TEST_CASE("turning points lie within their range, nearest first, and only where the runner-up is dearer") {
  Plan plan = dataParallel({});
  unsigned numPoints = 0;
  for (const PlanChoice &choice : plan.choices) {
    INFO(choice.op);
    if (!choice.runnerUp || choice.runnerUp->extraSeconds <= 0) {
      CHECK((!choice.runnerUp || choice.runnerUp->winsIf.empty()));
      continue;
    }
    double last = 0;
    for (const TurningPoint &point : choice.runnerUp->winsIf) {
      double distance = std::abs(std::log(point.factor));
      CHECK(distance <= std::log(16.0) * 1.001);
      CHECK(distance >= last);
      last = distance;
      ++numPoints;
    }
  }
  CHECK(numPoints > 0);
}

TEST_CASE("sensitivity plans again with each figure a fifth down and up") {
  PlanOptions options = optionsOf({"tiny/gpt/model.onnx", 4, "cpu-local"});
  options.sensitivity = true;
  llvm::Expected<Plan> plan = planModel(options);
  REQUIRE(bool(plan));
  REQUIRE(plan->sensitivity.size() == 8);
  for (size_t row = 0; row < 8; row += 2) {
    const PlanSensitivity &down = plan->sensitivity[row], &up = plan->sensitivity[row + 1];
    INFO(down.figure);
    CHECK(down.figure == up.figure);
    CHECK(down.factor == 0.8);
    CHECK(up.factor == 1.2);
    REQUIRE(down.stepSeconds);
    REQUIRE(up.stepSeconds);
    CHECK(*down.stepSeconds >= plan->stepSeconds * 0.999);
    CHECK(*up.stepSeconds <= plan->stepSeconds * 1.001);
  }
}

TEST_CASE("where a figure decides whether anything fits, sensitivity says why nothing does") {
  PlanOptions options = optionsOf({"tiny/gpt/model.onnx", 2, "cpu-local"});
  llvm::Expected<Plan> roomy = planModel(options);
  REQUIRE(bool(roomy));
  // Down from a limit that the fastest plan just meets, the memory forces another plan or none.
  options.memoryLimitBytes = roomy->memory.total();
  options.sensitivity = true;
  llvm::Expected<Plan> plan = planModel(options);
  REQUIRE(bool(plan));
  const PlanSensitivity &less = plan->sensitivity[4];
  CHECK(less.figure == "device.memory_bytes");
  CHECK((less.stepSeconds ? less.changedOps > 0 || *less.stepSeconds >= plan->stepSeconds
                          : llvm::StringRef(less.reason).contains("no plan fits")));
}

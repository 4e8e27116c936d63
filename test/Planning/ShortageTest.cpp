// Reasons why nothing fits, where they are wanted.
#include "GraphMaker.h"

#include "apc/Planning/Planning.h"

#include <catch2/catch.hpp>

using namespace apc;
using Catch::Matchers::Contains;

TEST_CASE("Nothing that fits is explained where that is wanted, and said in short of one point among several") {
  GraphMaker maker;
  ValueId x = maker.source("x", {64, 64}, ValueRole::Input);
  ValueId w = maker.source("w", {64, 64}, ValueRole::Parameter);
  maker.matmul("product", x, w);
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.devices = 2;
  request.cluster = "cpu-local";
  request.memoryLimitBytes = 1 << 10; // of parameters of 8 KiB
  const PlanningTarget target = llvm::cantFail(readTarget(request));
  PlanningControl control;
  auto messageOf = [&](const PlanningControl &own) {
    llvm::Expected<Plan> plan = planGraph(maker.graph, request, target, {}, own);
    REQUIRE(!plan);
    auto [fault, message] = takeMessage(plan.takeError());
    CHECK(fault == Fault::NoPlan);
    return message;
  };
  CHECK_THAT(messageOf(control), Contains("no plan fits 2 devices; the smallest set of causes") &&
                                     Contains("- memory: 1.00 KiB") && Contains("tensor parallel: "));
  CHECK_THAT(messageOf(control.withoutExplanation()), Contains("no plan was found that fits 2 devices") &&
                                                          !Contains("- memory") && !Contains("tensor parallel"));
}

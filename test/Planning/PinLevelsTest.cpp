// Pins on levels whose names hold other characters than words do.
#include "../ValueOf.h"
#include "GraphMaker.h"

#include "apc/Planning/Planning.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace apc;
using Catch::Contains;

TEST_CASE("pins name levels as the axes of plans do") {
  GraphMaker maker;
  ValueId first = maker.matmul("first", maker.source("x", {512, 1024}, ValueRole::Input),
                               maker.source("v", {1024, 4096}, ValueRole::Parameter));
  maker.sink(maker.matmul("second", first, maker.source("w", {4096, 1024}, ValueRole::Parameter)));
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.devices = 8; // of one node
  request.pins = {valueOf(parsePin("first: n=the-device", "--pin")),
                  valueOf(parsePin("second: n=the-node, ...", "--pin"))};
  PlanningTarget target = valueOf(readTarget(request));
  for (Level &level : target.cluster.pool.levels)
    level.name = "the." + level.name;
  const Plan plan = valueOf(planGraph(maker.graph, request, target, {}, {}));
  const PlanChoice &choice = plan.stages.front().choices.front();
  REQUIRE(choice.op == "first");
  CHECK_THAT(choice.strategy.str(), Contains("n:") && Contains("the-device"));
  CHECK_THAT(llvm::join(plan.notes, "\n"), Contains("does not cut n over 'the-node'"));
}

TEST_CASE("a pin on a level holds where one device is faster") {
  GraphMaker maker;
  ValueId first = maker.matmul("first", maker.source("x", {16, 16}, ValueRole::Input),
                               maker.source("v", {16, 16}, ValueRole::Parameter));
  maker.sink(maker.matmul("second", first, maker.source("w", {16, 16}, ValueRole::Parameter)));
  for (auto [pin, devices, strategy] :
       {std::tuple("first: n=device", 8, "n:(device.a device.b)"),
        std::tuple("first: n=device, ...", 8, "n:(device.a device.b)"), std::tuple("first: n=node", 16, "n:node"),
        std::tuple("first: m=(node device)", 16, "m:(node device)")}) {
    INFO(pin);
    PlanRequest request;
    request.mode = StepMode::Infer;
    request.devices = devices;
    request.pins = {valueOf(parsePin(pin, "--pin"))};
    const Plan plan = valueOf(planGraph(maker.graph, request, valueOf(readTarget(request)), {}, {}));
    const PlanChoice &choice = plan.stages.front().choices.front();
    REQUIRE(choice.op == "first");
    CHECK_THAT(choice.strategy.str(), Contains(strategy));
    auto single = llvm::find_if(plan.references, [](const Reference &own) { return own.name == "single device"; });
    REQUIRE(single != plan.references.end());
    CHECK_THAT(single->reason, Contains("is not as pinned"));
  }
}

// Strategies of a plan found again by the names of ops.
#include "apc/Planning/CarriedStrategies.h"
#include "../ValueOf.h"
#include "GraphMaker.h"

using namespace apc;

TEST_CASE("an op with a number in its name has nothing from one with a star there") {
  Mesh mesh;
  modelOn(4, mesh);
  const std::vector<std::string> axes{mesh.getAxes().front().name};
  Plan plan;
  StagePlan &stage = plan.stages.emplace_back();
  stage.choices = {{"layer3", "relu", {{{"b0", axes}}}}, {"layer*", "relu", {{{"b1", axes}}}}};
  stage.shardings = {{"x", "x", ValueRole::Input, {64, 64}, {64, 64}, {{{}, {}}, {}}}};

  auto carried = [&](const char *name) {
    GraphMaker maker;
    maker.relu(name, maker.source("x", {64, 64}, ValueRole::Input));
    return carriedStrategies(maker.graph, plan, 0, mesh);
  };
  CHECK(valueOf(carried("layer1")).back().axes[0].size() == 1); // as in layer 3

  stage.choices.erase(stage.choices.begin());
  llvm::Expected<std::vector<Strategy>> unknown = carried("layer1");
  REQUIRE(!unknown);
  CHECK_THAT(takeMessage(unknown.takeError()).second, Catch::Contains("op 'layer1': the plan does not know it"));
}

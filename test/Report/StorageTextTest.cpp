// How the storage of parameters and states is told.
#include "../../lib/Report/StorageText.h"
#include "../Plan/PlanSamples.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

using Axes = std::vector<AxisNames>;

/// A step on 2 nodes of 4 devices with one weight and its state, which rest as given. A weight that is cut is gathered
/// for its use, but for `used`.
Plan planOf(const Axes &weight, const Axes &state, const Axes &used = {{}, {}}) {
  Plan plan = samplePlan();
  plan.request.mode = StepMode::Train;
  StagePlan &stage = plan.stages.front();
  stage.shardings = {{"w", "w", ValueRole::Parameter, {16, 32}, {16, 32}, {weight, {}}},
                     {"w.first", "w.first", ValueRole::OptimizerState, {16, 32}, {16, 32}, {state, {}}},
                     {"b", "b", ValueRole::OptimizerState, {16}, {16}, {{{}}, {}}}};
  stage.moves.clear();
  if (weight != used)
    stage.moves = {{{"w"}, "", {used, {}}, {"h.0/MatMul"}, {"AllGather{model}"}, 0.001}};
  return plan;
}

} // namespace

TEST_CASE("states that are cut inside the node and replicated across nodes are HSDP") {
  const char *text = "; hybrid sharding (HSDP): cut over model=4, replicated over data=2";
  CHECK_THAT(storageText(planOf({{}, {}}, {{"model"}, {}})), Catch::EndsWith(text));
  CHECK_THAT(storageText(planOf({{"model"}, {}}, {{"model"}, {}})), Catch::EndsWith(text));
}

TEST_CASE("states that are cut across nodes and replicated inside are hybrid sharding without a name") {
  CHECK_THAT(storageText(planOf({{}, {}}, {{}, {"data"}})),
             Catch::EndsWith("; hybrid sharding: cut over data=2, replicated over model=4"));
}

TEST_CASE("states that are whole, cut over all devices, or cut as parameters are used are no hybrid sharding") {
  CHECK_THAT(storageText(planOf({{}, {}}, {{}, {}})), !Catch::Contains("hybrid"));
  CHECK_THAT(storageText(planOf({{}, {}}, {{"data", "model"}, {}})), !Catch::Contains("hybrid"));
  CHECK_THAT(storageText(planOf({{"data"}, {"model"}}, {{"data"}, {"model"}})), !Catch::Contains("hybrid"));
  // Tensor parallelism inside the node, with whole states of each half across nodes.
  CHECK_THAT(storageText(planOf({{"model"}, {}}, {{"model"}, {}}, {{"model"}, {}})), !Catch::Contains("hybrid"));
  CHECK_THAT(storageText(planOf({{"model"}, {}}, {{"model", "data"}, {}}, {{"model"}, {}})),
             !Catch::Contains("hybrid"));
}

TEST_CASE("parameters of a step without states are told by their own storage") {
  Plan plan = planOf({{"model"}, {}}, {{}, {}});
  plan.stages[0].shardings.resize(1);
  CHECK_THAT(storageText(plan), Catch::EndsWith("(ZeRO 3: 1 tensor gathered for use); hybrid sharding (HSDP): cut over "
                                                "model=4, replicated over data=2"));
}

TEST_CASE("pieces of a layout without ZeRO are those of tp, and are not told as a stage of ZeRO") {
  Plan plan = planOf({{"model"}, {}}, {{"model", "data"}, {}});
  plan.stages[0].shardings[1].localShape = {2, 32};
  CHECK_THAT(storageText(plan), Catch::Contains("(ZeRO 3: 1 tensor gathered for use)") &&
                                    Catch::Contains("(ZeRO 1: cut further than the parameters)"));
  plan.search = "layout dp=1,tp=8";
  CHECK_THAT(storageText(plan), !Catch::Contains("ZeRO") && Catch::Contains("(1 tensor gathered for use)") &&
                                    Catch::Contains("(cut further than the parameters)"));
  plan.search = "layout dp=2,tp=4,zero=1,mb=1";
  CHECK_THAT(storageText(plan), Catch::Contains(" (1 tensor gathered for use)") && Catch::Contains("(ZeRO 1: cut"));
  plan.search = "layout dp=2,tp=4,zero=3";
  CHECK_THAT(storageText(plan), Catch::Contains("(ZeRO 3: 1 tensor gathered for use)"));
}

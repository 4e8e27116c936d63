// Differences between two plans.
#include "PlanSamples.h"

#include "apc/Plan/Diff.h"
#include "apc/Plan/Record.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

const FigureChange &figure(const std::vector<FigureChange> &figures, llvm::StringRef name) {
  for (const FigureChange &entry : figures)
    if (entry.name == name)
      return entry;
  FAIL("no figure " << name.str());
  return figures.front();
}

} // namespace

TEST_CASE("a plan does not differ from itself") { CHECK(diffPlans(samplePlan(), samplePlan()).isEmpty()); }

TEST_CASE("time that planning took is no difference") {
  Plan later = samplePlan();
  later.timing.totalSeconds = 99;
  CHECK(diffPlans(samplePlan(), later).isEmpty());
}

TEST_CASE("strategies that change alike are merged over layers, settings and figures are listed") {
  PlanDiff diff = diffPlans(samplePlan(), changedPlan());
  REQUIRE(diff.strategies.size() == 1);
  CHECK(diff.strategies[0].pattern == "h.*/MatMul");
  CHECK(diff.strategies[0].count == 2);
  CHECK(diff.strategies[0].before == "k:model");
  CHECK(diff.strategies[0].after == "n:model");
  CHECK(diff.strategies[0].beforeSeconds == Approx(0.006));
  CHECK(diff.strategies[0].afterSeconds == Approx(0.004));
  CHECK(diff.numOps == 4);
  REQUIRE(diff.settings.size() == 2);
  CHECK(diff.settings[0].name == "devices");
  CHECK(diff.settings[1].after == "data=4 (node) model=4 (device)");
  CHECK(*figure(diff.seconds, "step").relative() == Approx(-0.2));
  CHECK(figure(diff.bytes, "AllReduce").after == 0);
  CHECK(!figure(diff.bytes, "AllGather").relative());
}

TEST_CASE("strategies that cut over the same devices are the same, whatever the axes are called") {
  Plan whole = samplePlan(), parts = samplePlan();
  StagePlan &stage = parts.stages.front();
  stage.mesh.axes = {{"data", 2, "node", 0}, {"model", 2, "device", 1}, {"model2", 2, "device", 1}};
  stage.choices[0].strategy = stage.choices[2].strategy = strategy("k:(model model2)");
  CHECK(diffPlans(whole, parts).strategies.empty());
  CHECK(diffPlans(parts, whole).strategies.empty());
  // The other order, a part of the devices, and another factor are changes.
  for (const char *text :
       {"k:(model2 model)", "k:model", "k:model2", "n:(model model2)", "k:data", "replicated", "k:model n:model2"}) {
    INFO(text);
    stage.choices[0].strategy = strategy(text); // "k:model" is written as before, but cuts 2 ways and not 4
    CHECK(diffPlans(whole, parts).strategies.size() == 1);
  }
}

TEST_CASE("axes that are renamed or merged alone are no difference") {
  Plan parts = samplePlan();
  StagePlan &stage = parts.stages.front();
  stage.mesh.axes = {{"model", 2, "node", 0}, {"model2", 2, "device", 1}, {"model3", 2, "device", 1}};
  for (size_t index : {0, 2})
    stage.choices[index].strategy = strategy("k:(model2 model3)");
  CHECK(diffPlans(samplePlan(), parts).isEmpty());
  CHECK(diffPlans(parts, samplePlan()).isEmpty());
  stage.choices[0].strategy = strategy("n:(model2 model3)");
  PlanDiff diff = diffPlans(samplePlan(), parts);
  REQUIRE(diff.settings.size() == 1); // the words of the strategies need it
  CHECK(diff.settings[0].name == "mesh");
  CHECK(diff.strategies.size() == 1);
}

TEST_CASE("on meshes of other devices strategies are told by their part of each level") {
  Plan few = samplePlan(), many = samplePlan();
  many.stages.front().mesh.axes = {{"model", 4, "node", 0}, {"model2", 4, "device", 1}};
  few.stages.front().choices[0].strategy = strategy("m:data n:model");
  many.stages.front().choices[0].strategy = strategy("n:model2 m:model");
  many.stages.front().choices[2].strategy = strategy("k:model2");
  CHECK(diffPlans(few, many).strategies.empty());
  many.stages.front().choices[2].strategy = strategy("k:model"); // written as in the other plan, but between nodes
  CHECK(diffPlans(few, many).strategies.size() == 1);
}

TEST_CASE("axes may be told by their level alone, or with the level behind a name of their own") {
  Plan old = samplePlan(), named = samplePlan(), spoken = samplePlan();
  old.stages.front().mesh.axes = {{"data", 2, "node", 0}, {"model", 2, "ring x", 1}, {"model2", 2, "ring x", 1}};
  named.stages.front().mesh.axes = {{"node", 2, "node", 0}, {"ring-x.a", 2, "ring x", 1}, {"ring-x.b", 2, "ring x", 1}};
  spoken.stages.front().mesh.axes = {{"node", 2, "node", 0}, {"ring-x", 4, "ring x", 1}};
  CHECK(old.meshText() == "data=2 (node) model=2 (ring x) model2=2 (ring x)");
  CHECK(named.meshText() == "node=2 ring-x.a=2 ring-x.b=2");
  auto set = [](Plan &plan, llvm::StringRef text) {
    for (PlanChoice &choice : plan.stages.front().choices)
      choice.strategy = strategy(text);
  };
  set(old, "m:data k:(model model2)");
  set(named, "m:node k:(ring-x.a ring-x.b)");
  set(spoken, "m:node k:ring-x");
  CHECK(diffPlans(old, named).strategies.empty());
  CHECK(diffPlans(named, spoken).strategies.empty());
  CHECK(diffPlans(spoken, old).strategies.empty());
  CHECK(compareRecords(recordOf(old), recordOf(named), 0).passes());
  CHECK(compareRecords(recordOf(named), recordOf(spoken), 0).passes());
}

TEST_CASE("limits of the search are settings") {
  Plan limited = samplePlan();
  limited.request.timeLimitSeconds = 0.5;
  limited.request.ignoresModelShardings = true;
  PlanDiff diff = diffPlans(samplePlan(), limited);
  REQUIRE(diff.settings.size() == 2);
  CHECK(diff.settings[0].name == "ignore-model-shardings");
  CHECK(diff.settings[0].before == "false");
  CHECK(diff.settings[0].after == "true");
  CHECK(diff.settings[1].name == "time-limit");
  CHECK(diff.settings[1].before == "60");
  CHECK(diff.settings[1].after == "0.5");
}

TEST_CASE("ops of one plan only have an empty side") {
  Plan shorter = samplePlan();
  shorter.stages.front().choices.pop_back();
  PlanDiff less = diffPlans(samplePlan(), shorter), more = diffPlans(shorter, samplePlan());
  REQUIRE(less.strategies.size() == 1);
  CHECK(less.strategies[0].pattern == "h.1/Add");
  CHECK(less.strategies[0].after.empty());
  REQUIRE(more.strategies.size() == 1);
  CHECK(more.strategies[0].before.empty());
  CHECK(less.numOps == 4);
  CHECK(more.numOps == 4);
}

TEST_CASE("plans with a pipeline differ in their schedule and cuts, and in the bubble") {
  Plan before = samplePlan(), after = samplePlan();
  before.pipeline = PlanPipeline{"1f1b", 2, 1, {"h.1/MatMul"}, {}};
  after.pipeline = PlanPipeline{"interleaved", 2, 3, {"h.0/Add", "h.1/MatMul"}, {}};
  after.bubbleSeconds = 0.25;
  PlanDiff diff = diffPlans(before, after);
  REQUIRE(diff.settings.size() == 1);
  CHECK(diff.settings[0].name == "stages");
  CHECK(diff.settings[0].before == "1f1b on 2 workers, cut before 'h.1/MatMul'");
  CHECK(diff.settings[0].after == "interleaved on 2 workers with 3 chunks each, cut before 'h.0/Add', 'h.1/MatMul'");
  CHECK(figure(diff.seconds, "bubble").after == 0.25);
  CHECK(diffPlans(samplePlan(), after).settings.front().before == "one");
  CHECK(diffPlans(before, before).isEmpty());
}

TEST_CASE("an axis of one name that is another in another stage is told by its stage") {
  auto inStages = [](std::vector<PlanAxis> first, std::vector<PlanAxis> second, llvm::StringRef text) {
    Plan plan = samplePlan();
    plan.stages.push_back(plan.stages.front());
    plan.stages[0].mesh.axes = std::move(first);
    plan.stages[1].mesh.axes = std::move(second);
    for (StagePlan &stage : plan.stages)
      for (PlanChoice &choice : stage.choices)
        choice.strategy = strategy("n:device.a");
    for (PlanChoice &choice : plan.stages[1].choices) {
      choice.op = "second/" + choice.op;
      choice.strategy = strategy(text);
    }
    return plan;
  };
  std::vector<PlanAxis> wide = {{"device.a", 2, "device", 0}, {"device.b", 4, "device", 0}};
  std::vector<PlanAxis> fine = {{"device.a", 4, "device", 0}, {"device.b", 2, "device", 0}};
  Plan plan = inStages(wide, fine, "n:device.b");
  // The minor half of `fine`, called otherwise: the same.
  Plan renamed = inStages(wide, {{"x", 4, "device", 0}, {"y", 2, "device", 0}}, "n:y");
  CHECK(diffPlans(plan, renamed).strategies.empty());
  // Called as before, on the other stage's mesh: 4 ways and not 2.
  CHECK(diffPlans(plan, inStages(wide, wide, "n:device.b")).strategies.size() == 2);
  CHECK(compareRecords(recordOf(plan), recordOf(plan), 0).passes());
  CHECK_FALSE(compareRecords(recordOf(plan), recordOf(inStages(wide, fine, "n:device.a")), 0).passes());
}

TEST_CASE("the devices of a level are counted for each stage, however many there are") {
  Plan plan = samplePlan();
  for (int stage = 0; stage < 40; ++stage) { // 8 to the power of 40 is no number of devices
    plan.stages.push_back(plan.stages.front());
    for (PlanChoice &choice : plan.stages.back().choices)
      choice.op = "part" + std::to_string(stage) + "/" + choice.op;
  }
  Plan renamed = plan;
  for (StagePlan &stage : renamed.stages) {
    stage.mesh.axes[1].name = "other";
    for (size_t index : {0, 2})
      stage.choices[index].strategy = strategy("k:other");
  }
  CHECK(compareRecords(recordOf(plan), recordOf(renamed), 0).passes());
}

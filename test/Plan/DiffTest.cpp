// Differences between two plans, and the text that tells them.
#include "PlanSamples.h"

#include "apc/Plan/Diff.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

std::string printed(const PlanDiff &diff) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDiff(diff, os);
  return text;
}

/// Both layers' MatMuls go from k to n, and the step is a fifth faster on twice the devices.
Plan changedPlan() {
  Plan plan = samplePlan();
  plan.devices = 16;
  plan.mesh[0].size = 4;
  plan.stepSeconds = 0.008;
  plan.communicationBytes = {{"AllGather", 2048}};
  plan.choices[0].strategy = plan.choices[2].strategy = "n:model";
  plan.choices[0].seconds = plan.choices[2].seconds = 0.002;
  return plan;
}

const FigureChange &figure(const std::vector<FigureChange> &figures, llvm::StringRef name) {
  for (const FigureChange &entry : figures)
    if (entry.name == name)
      return entry;
  FAIL("no figure " << name.str());
  return figures.front();
}

} // namespace

TEST_CASE("a plan does not differ from itself") {
  PlanDiff diff = diffPlans(samplePlan(), samplePlan());
  CHECK(diff.isEmpty());
  CHECK(printed(diff) == "the plans are the same\n");
}

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
  CHECK_THAT(printed(diff), Catch::Contains("2 of 4 ops differ") && Catch::Contains("-20.0 %") &&
                                Catch::Contains("h.*/MatMul      2"));
}

TEST_CASE("strategies that cut over the same devices are the same, whatever the axes are called") {
  Plan whole = samplePlan(), parts = samplePlan();
  parts.mesh = {{"data", 2, "node", 0}, {"model", 2, "device", 1}, {"model2", 2, "device", 1}};
  parts.choices[0].strategy = parts.choices[2].strategy = "k:(model model2)";
  CHECK(diffPlans(whole, parts).strategies.empty());
  CHECK(diffPlans(parts, whole).strategies.empty());
  // The other order, a part of the devices, and another factor are changes.
  for (const char *strategy :
       {"k:(model2 model)", "k:model", "k:model2", "n:(model model2)", "k:data", "replicated", "k:model n:model2"}) {
    INFO(strategy);
    parts.choices[0].strategy = strategy; // "k:model" is written as before, but cuts 2 ways and not 4
    CHECK(diffPlans(whole, parts).strategies.size() == 1);
  }
}

TEST_CASE("limits of the search are settings") {
  Plan limited = samplePlan();
  limited.settings.timeLimitSeconds = 0.5;
  limited.settings.ignoresModelShardings = true;
  PlanDiff diff = diffPlans(samplePlan(), limited);
  REQUIRE(diff.settings.size() == 2);
  CHECK(diff.settings[0].name == "time limit");
  CHECK(diff.settings[0].before == "default");
  CHECK(diff.settings[0].after == "0.5 s");
  CHECK(diff.settings[1].after == "ignored");
}

TEST_CASE("ops of one plan only have an empty side") {
  Plan shorter = samplePlan();
  shorter.choices.pop_back();
  PlanDiff less = diffPlans(samplePlan(), shorter), more = diffPlans(shorter, samplePlan());
  REQUIRE(less.strategies.size() == 1);
  CHECK(less.strategies[0].pattern == "h.1/Add");
  CHECK(less.strategies[0].after.empty());
  REQUIRE(more.strategies.size() == 1);
  CHECK(more.strategies[0].before.empty());
  CHECK(less.numOps == 4);
  CHECK(more.numOps == 4);
  CHECK_THAT(printed(less), Catch::Contains("(absent)"));
}

TEST_CASE("the document of a diff says same, changes and null for what was not there") {
  CHECK_THAT(printDiffJson(diffPlans(samplePlan(), samplePlan())), Catch::Contains("\"same\": true"));
  CHECK_THAT(printDiffJson(diffPlans(samplePlan(), changedPlan())),
             Catch::Contains("\"same\": false") && Catch::Contains("\"ops\": \"h.*/MatMul\"") &&
                 Catch::Contains("\"change\": null") && Catch::Contains("\"before_seconds\": 0.006"));
}

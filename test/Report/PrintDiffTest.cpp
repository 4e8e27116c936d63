// The text and the document that tell the differences of two plans.
#include "../Plan/PlanSamples.h"

#include "apc/Report/PrintDiff.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

std::string printed(const PlanDiff &diff) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDiff(diff, os);
  return text;
}

} // namespace

TEST_CASE("plans that do not differ are said to be the same") {
  CHECK(printed(diffPlans(samplePlan(), samplePlan())) == "the plans are the same\n");
}

TEST_CASE("the text of a diff lists settings, figures and merged strategies") {
  CHECK_THAT(printed(diffPlans(samplePlan(), changedPlan())),
             Catch::Contains("2 of 4 ops differ") && Catch::Contains("-20.0 %") &&
                 Catch::Contains("h.*/MatMul      2") && Catch::Contains("devices  8"));
}

TEST_CASE("ops of one plan only are absent in the other") {
  Plan shorter = samplePlan();
  shorter.stages.front().choices.pop_back();
  CHECK_THAT(printed(diffPlans(samplePlan(), shorter)), Catch::Contains("(absent)"));
}

TEST_CASE("the document of a diff says same, changes and null for figures that were not there") {
  CHECK_THAT(printDiffJson(diffPlans(samplePlan(), samplePlan())), Catch::Contains("\"same\": true"));
  CHECK_THAT(printDiffJson(diffPlans(samplePlan(), changedPlan())),
             Catch::Contains("\"same\": false") && Catch::Contains("\"ops\": \"h.*/MatMul\"") &&
                 Catch::Contains("\"change\": null") && Catch::Contains("\"before_seconds\": 0.006"));
}

// Bars around predicted steps, and choices that they leave open.
#include "apc/Report/ErrorBar.h"
#include "../Plan/PlanSamples.h"

#include "apc/Report/ExplainJson.h"
#include "apc/Report/Summary.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The sample on 4 workers in 10 ms, beside one schedule that takes \p otherSeconds.
Plan planBeside(double otherSeconds) {
  Plan plan = samplePlan();
  plan.pipeline = PlanPipeline{"1f1b", 4, 1, {}, {}};
  plan.parallelism.clear();
  plan.stepSeconds = 0.010;
  plan.memoryLimitBytes = int64_t(1) << 30;
  int64_t bytes = int64_t(1) << 29;
  plan.tried = {{4, "1f1b", 1, 8, 8, 2, "none", "auto", 0.010, bytes, true, "", false},
                {4, "gpipe", 1, 8, 8, 2, "none", "auto", otherSeconds, bytes, true, "", true}};
  plan.numTried = 2;
  return plan;
}

template <typename Print>
std::string textOf(Print print, const Plan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(plan, os);
  return text;
}

} // namespace

TEST_CASE("a step of training has a bar, one of inference has none") {
  Plan plan = planBeside(0.011);
  std::optional<ErrorBar> bar = errorBarOf(plan);
  REQUIRE(bar);
  CHECK(bar->low < 0.010);
  CHECK(bar->high > 0.010);
  CHECK(bar->low * bar->high == Approx(0.010 * 0.010));
  CHECK(
      textOf([](const Plan &own, llvm::raw_ostream &os) { printSummary(own, os, false); }, plan).find("\nerror    ") !=
      std::string::npos);
  plan.training.reset();
  CHECK(!errorBarOf(plan));
  CHECK(textOf(printErrorBar, plan).empty());
}

TEST_CASE("the kind of a bar is that of the parallelism on which the seconds rest") {
  Plan plan = planBeside(0.011);
  plan.pipeline.reset();
  auto distanceOf = [](llvm::StringRef kind) {
    auto isOfKind = [&](const PublishedDistance &own) { return own.kind == kind; };
    return llvm::find_if(publishedDistances(), isOfKind)->distance;
  };
  auto widthWithout = [&](double tensorSeconds) {
    plan.parallelism = {{"data parallel", 0.130, 1}, {"tensor parallel", tensorSeconds, 1}};
    return errorBarOf(plan)->high / plan.stepSeconds;
  };
  CHECK(widthWithout(0.01005) == Approx(distanceOf("data")));
  CHECK(widthWithout(0.010 * distanceOf("data") * 1.001) == Approx(distanceOf("tensor")));
  CHECK(widthWithout(0.019) == Approx(distanceOf("tensor")));
  plan.parallelism.pop_back();
  CHECK(errorBarOf(plan)->high == Approx(plan.stepSeconds * distanceOf("data")));
  plan.pipeline = PlanPipeline{"1f1b", 4, 1, {}, {}};
  CHECK(errorBarOf(plan)->high == Approx(plan.stepSeconds * distanceOf("stages")));
}

TEST_CASE("a choice is open where the bars of the two best overlap, and a measurement is named") {
  Plan close = planBeside(0.011), far = planBeside(0.020);
  std::optional<OpenChoice> open = openChoiceOf(close);
  REQUIRE(open);
  CHECK(open->kind == "other schedule");
  CHECK(open->stepSeconds == 0.011);
  CHECK(!open->measurement.empty());
  auto explained = [](const Plan &plan) {
    return textOf([](const Plan &own, llvm::raw_ostream &os) { explainPlan(own, os, false); }, plan);
  };
  CHECK(explained(close).find("The choice is not certain: the next best (other schedule)") != std::string::npos);
  CHECK(explained(close).find(open->measurement) != std::string::npos);
  CHECK(explainPlanJson(close).find("\"open_choice\": \"other schedule\"") != std::string::npos);
  CHECK(!openChoiceOf(far));
  CHECK(explained(far).find("not certain") == std::string::npos);
  CHECK(explainPlanJson(far).find("open_choice") == std::string::npos);
}

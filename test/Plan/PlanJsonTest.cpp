// plan.json: what is written is read back, and what is not a plan is refused with a reason.
#include "PlanSamples.h"

#include "apc/Plan/PlanJson.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

std::string messageOf(llvm::Expected<Plan> plan) { return plan ? "" : takeMessage(plan.takeError()).second; }

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t position = text.find(from);
  REQUIRE(position != std::string::npos);
  return text.replace(position, from.size(), to);
}

} // namespace

TEST_CASE("a plan that is written and read back prints the same bytes") {
  std::string text = printPlan(samplePlan());
  llvm::Expected<Plan> read = parsePlan(text, "plan.json");
  REQUIRE(bool(read));
  CHECK(printPlan(*read) == text);
  CHECK(read->clusterOverrides == samplePlan().clusterOverrides);
  CHECK(read->choices.size() == 4);
  CHECK(read->choices[0].runnerUp->extraSeconds == 0.001);
  CHECK(read->choices[0].runnerUp->winsIf.size() == 2);
  CHECK(!read->choices[0].runnerUp->winsIf[1].value);
  CHECK(!read->choices[1].runnerUp);
  CHECK(read->settings == samplePlan().settings);
  CHECK(read->sensitivity.size() == 2);
  CHECK(!read->baselines[1].stepSeconds);
  CHECK(read->shardings[1].dims == std::vector<std::vector<std::string>>{{"model"}, {}});
}

TEST_CASE("the documented keys of plan.json are there") {
  std::string text = printPlan(samplePlan());
  for (const char *key : {"version",
                          "model",
                          "sha256",
                          "cluster",
                          "cluster_overrides",
                          "devices",
                          "mode",
                          "search",
                          "mesh",
                          "step_seconds",
                          "lower_bound_seconds",
                          "gap",
                          "memory_bytes",
                          "memory_limit_bytes",
                          "communication_bytes",
                          "baselines",
                          "choices",
                          "shardings",
                          "timing_seconds",
                          "runner_up",
                          "local_shape",
                          "partial"}) {
    INFO(key);
    CHECK(text.find("\"" + std::string(key) + "\"") != std::string::npos);
  }
  CHECK(printPlan(samplePlan(), /*withTiming=*/false).find("timing_seconds") == std::string::npos);
}

TEST_CASE("what is not a plan is refused with the file and the reason") {
  std::string text = printPlan(samplePlan());
  CHECK_THAT(messageOf(parsePlan("", "a.json")), Catch::Contains("a.json") && Catch::Contains("apc plan"));
  CHECK_THAT(messageOf(parsePlan("[]", "a.json")), Catch::Contains("a.json"));
  CHECK_THAT(messageOf(parsePlan(replaced(text, "\"version\": 1", "\"version\": 7"), "a.json")),
             Catch::Contains("version 7") && Catch::Contains("reads version 1"));
  CHECK_THAT(messageOf(parsePlan(replaced(text, "\"gap\"", "\"gasp\""), "a.json")), Catch::Contains("gap"));
  CHECK_THAT(messageOf(parsePlan(replaced(text, "\"devices\": 8", "\"devices\": \"8\""), "a.json")),
             Catch::Contains("must be number"));
  CHECK_THAT(messageOf(parsePlan(replaced(text, "\"rejections\": 1", "\"rejections\": 9"), "a.json")),
             Catch::Contains("h.0/Add"));
}

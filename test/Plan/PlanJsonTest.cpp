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
  CHECK(!read->choices[2].pinned);
  REQUIRE(read->choices[3].pinned);
  CHECK(read->choices[3].pinned->by == "pin 'h.1/Add: replicated' (pins.json, pin 2)");
  CHECK(read->choices[3].pinned->free->extraSeconds == -0.0002);
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

TEST_CASE("what is wrong in a plan file is said in our words, with line or key") {
  std::string text = printPlan(samplePlan());
  auto refused = [](const std::string &json) {
    std::string message = messageOf(parsePlan(json, "a.json"));
    CHECK(message.find("json.exception") == std::string::npos);
    CHECK(message.find("[json") == std::string::npos);
    return message;
  };
  CHECK_THAT(refused(" \n"), Catch::EndsWith("line 1: the file is empty") || Catch::EndsWith("the file is empty"));
  CHECK_THAT(refused(text.substr(0, 200)), Catch::Contains("the text ends before its brackets are closed"));
  CHECK_THAT(refused("{\n\"version\": x}"), Catch::EndsWith("line 2: 'x' is not expected here"));
  CHECK_THAT(refused("[1]"), Catch::EndsWith("an object of a plan's keys is expected"));
  CHECK_THAT(refused("{}"), Catch::EndsWith("key 'version' is missing"));
  CHECK_THAT(refused("{\"version\": 1e999}"), Catch::EndsWith("a number is too large; at most 1.79e308 is accepted"));
  CHECK_THAT(refused(replaced(text, "\"m:model\"", "7")),
             Catch::EndsWith("key 'choices[0].factors[0].other.strategy' must be a text, not 7"));
  CHECK_THAT(refused(replaced(text, "\"cut\": true", "\"cut\": 1")),
             Catch::EndsWith("key 'choices[0].factors[1].cut' must be true or false, not 1"));
  CHECK_THAT(refused(replaced(text, "\"devices\": 8", "\"devices\": 8.5")), Catch::Contains("not 8.5"));
}

TEST_CASE("what is not a plan is refused with the file and the reason") {
  std::string text = printPlan(samplePlan());
  CHECK_THAT(messageOf(parsePlan("", "a.json")), Catch::Contains("a.json") && Catch::Contains("apc plan"));
  CHECK_THAT(messageOf(parsePlan("[]", "a.json")), Catch::Contains("a.json"));
  CHECK_THAT(messageOf(parsePlan(replaced(text, "\"version\": 1", "\"version\": 7"), "a.json")),
             Catch::Contains("version 7") && Catch::Contains("reads version 1"));
  CHECK_THAT(messageOf(parsePlan(replaced(text, "\"gap\"", "\"gasp\""), "a.json")),
             Catch::Contains("key 'gap' is missing"));
  CHECK_THAT(messageOf(parsePlan(replaced(text, "\"devices\": 8", "\"devices\": \"8\""), "a.json")),
             Catch::Contains("key 'devices' must be a whole number") && Catch::Contains("not \"8\""));
  CHECK_THAT(messageOf(parsePlan(replaced(text, "\"rejections\": 1", "\"rejections\": 9"), "a.json")),
             Catch::Contains("h.0/Add"));
}

// The words for a plan.
#include "../Plan/PlanSamples.h"

#include "apc/Report/ExplainJson.h"
#include "apc/Report/Summary.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

std::string explained(llvm::StringRef op, bool candidates = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::Error error = explainOp(samplePlan(), op, os, candidates))
    return "error: " + takeMessage(std::move(error)).second;
  return text;
}

} // namespace

TEST_CASE("ops whose names differ in numbers and that do the same are one group") {
  std::vector<LayerGroup> groups = layerGroups(samplePlan());
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].pattern == "h.*/MatMul");
  CHECK(groups[0].count == 2);
  CHECK(groups[0].seconds == Approx(0.006));
  CHECK(groups[1].communicationSeconds == Approx(0.003));
}

TEST_CASE("a group of one keeps its own name") {
  Plan plan = samplePlan();
  plan.stages.front().choices[2].strategy = strategy("replicated");
  std::vector<LayerGroup> groups = layerGroups(plan);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].pattern == "h.0/MatMul");
  CHECK(groups[2].pattern == "h.1/MatMul");
}

TEST_CASE("explain gives rule, strategy, result, runner-up and rejections of an op") {
  CHECK_THAT(explained("h.0/MatMul"),
             Catch::Contains("m k, k n -> m n") && Catch::Contains("k:model") &&
                 Catch::Contains("partial over model") && Catch::Contains("runner-up     n:model: 1.00 ms more") &&
                 Catch::Contains("9 strategies offered, 3 rejected (--candidates says why)\n"));
  CHECK_THAT(explained("h.0/MatMul"), !Catch::Contains("flops=") && !Catch::Contains("m = 8 is less than 16"));
  CHECK_THAT(explained("h.0/MatMul", true),
             Catch::Contains("9 strategies offered, 3 rejected\n") && Catch::Contains("3 x m = 8 is less than 16"));
}

TEST_CASE("explain says of each factor whether it is cut, and what the other way would cost") {
  CHECK_THAT(explained("h.0/MatMul"),
             Catch::Contains("factor        m=8 is whole: cut it would cost 2.00 ms more, at best as m:model") &&
                 Catch::Contains("factor        k=16 is cut: whole it would cost 1.00 ms more, at best as n:model") &&
                 Catch::Contains("factor        n=32 is whole: no strategy cuts it here") &&
                 Catch::Contains("factor        d=4 is whole: the operator needs all of it on every device"));
}

TEST_CASE("a pinned op says who pinned it and what is offered without the pin") {
  CHECK_THAT(explained("h.1/Add"),
             Catch::Contains("pinned        by pin 'h.1/Add: replicated' (pins.json, pin 2)\n") &&
                 Catch::Contains("without it d0:data is offered: 200 us less by itself, without regard to memory") &&
                 Catch::Contains("runner-up     none: the pin leaves no other"));
  CHECK_THAT(explained("h.0/Add"), !Catch::Contains("pinned"));
  // Ops that do the same, one of them because it must, are explained apart.
  CHECK_THAT(explained("h.*/Add"), Catch::Contains("h.0/Add (add)") && Catch::Contains("h.1/Add (add)"));
  std::string text;
  llvm::raw_string_ostream os(text);
  explainPlan(samplePlan(), os);
  CHECK_THAT(text, Catch::Contains("\nPinned:\n  1 x h.*/Add by pin 'h.1/Add: replicated' (pins.json, pin 2)\n"));
}

TEST_CASE("a strategy that is faster by itself is not called more expensive") {
  Plan plan = samplePlan();
  plan.stages.front().choices[0].runnerUp->extraSeconds = -0.001;
  std::string text;
  llvm::raw_string_ostream os(text);
  REQUIRE_FALSE(static_cast<bool>(explainOp(plan, "h.0/MatMul", os)));
  CHECK_THAT(text, Catch::Contains("runner-up     n:model: 1.00 ms less by itself, without regard to memory"));
}

TEST_CASE("explain names the collective that an op waits for") {
  CHECK_THAT(explained("h.0/Add"),
             Catch::Contains("'y0', 'y1': AllReduce over model, 3.00 ms (shared by 2 ops, counted at this one)\n") &&
                 Catch::Contains("runner-up     none"));
}

TEST_CASE("a pattern explains ops that do the same once") {
  std::string text = explained("h.*/MatMul");
  CHECK_THAT(text, Catch::Contains("h.0/MatMul (matmul)"));
  CHECK(text.find("h.1/MatMul (matmul)") == std::string::npos);
}

TEST_CASE("an op that another one does as well is explained by that one") {
  CHECK_THAT(explained("h.1/Softmax"), Catch::StartsWith("h.1/Softmax is a part of h.1/MatMul:\nh.1/MatMul (matmul)\n"
                                                         "  merges        h.1/Softmax, h.1/MatMul_1\n"));
}

TEST_CASE("a parameter says where it lies and who reads it") {
  CHECK(explained("w") == "w (parameter)\n"
                          "  lies as       [model, -], [16, 32] -> [4, 32] on each device\n"
                          "  on a device   512 B, the same along data\n"
                          "  read by       h.0/MatMul\n");
  CHECK(explained("w*") == explained("w"));
  CHECK_THAT(explained("y0"), Catch::Contains("y0 (activation)\n") && Catch::Contains("partial over model") &&
                                  Catch::Contains("  made by       h.0/MatMul\n") &&
                                  Catch::Contains("  read by       h.0/Add as [-, -], after AllReduce over model\n"));
}

TEST_CASE("of the stages of a pipeline no runner-ups are looked for, and values say in which of them they lie") {
  Plan plan = samplePlan();
  for (PlanChoice &choice : plan.stages.front().choices) {
    choice.runnerUp.reset();
    choice.factors.clear();
    choice.pinned.reset();
  }
  plan.pipeline.emplace();
  plan.pipeline->workers = 2;
  plan.stages.push_back(plan.stages.front());
  auto explain = [&](llvm::StringRef name) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::cantFail(explainOp(plan, name, os));
    return text;
  };
  CHECK_THAT(explain("h.0/MatMul"),
             Catch::Contains("runner-up     none: in the stages of a pipeline they are not looked "
                             "for\n"));
  CHECK_THAT(explain("h.*/MatMul"), Catch::Contains(" of communication together; of these\n"));
  std::string both = "w (parameter of stage 0)\n"
                     "  lies as       [model, -], [16, 32] -> [4, 32] on each device\n"
                     "  on a device   512 B, the same along data\n"
                     "  read by       h.0/MatMul\n";
  both += "w (parameter of stage 1)" + both.substr(both.find('\n'));
  CHECK(explain("w") == both);
  CHECK(explain("w*") == both);
}

TEST_CASE("an unknown op lists near names") {
  CHECK_THAT(explained("h.0/MatMull"), Catch::StartsWith("error:") && Catch::Contains("'h.0/MatMul'"));
}

TEST_CASE("near names may be those of parameters") { CHECK_THAT(explained("ww"), Catch::Contains("names: 'w'")); }

TEST_CASE("the summary has units, the bound, memory and every reference") {
  std::string text;
  llvm::raw_string_ostream os(text);
  printSummary(samplePlan(), os);
  CHECK_THAT(text, Catch::Contains("10.0 ms") && Catch::Contains("optimal, gap 0.00 %") &&
                       Catch::Contains("with device.memory_bytes=40GiB, level.node.bytes_per_second=25e9, 8 devices") &&
                       Catch::Contains("1.00 MiB") && Catch::Contains("5.00 x") &&
                       Catch::Contains("does not run: batch of 1") && Catch::Contains("2 of 10 devices stay idle"));
}

TEST_CASE("explain says which change of the cluster lets the runner-up win") {
  CHECK_THAT(explained("h.0/MatMul"),
             Catch::Contains("overtaken if  level.node.bytes_per_second rises above 1.5 times today's (3.75e+10)") &&
                 Catch::Contains("or device.peak_flops_per_second falls below 0.25 times today's\n"));
  CHECK_THAT(
      explained("h.1/MatMul"),
      Catch::Contains(
          "overtaken if  no single cluster figure, up to 16 times larger or smaller, makes the runner-up faster"));
}

TEST_CASE("ops of a pattern that do the same are summed up") {
  CHECK_THAT(explained("h.*/MatMul"),
             Catch::StartsWith("2 ops h.*/MatMul do the same: 6.00 ms and 0 s of communication "
                               "together; their runner-ups, one at a time, 2.00 ms more"));
}

TEST_CASE("the whole plan's explanation lists the decisions that turn first, and the sensitivity") {
  std::string text;
  llvm::raw_string_ostream os(text);
  explainPlan(samplePlan(), os);
  CHECK_THAT(
      text, Catch::Contains("1 x h.*/MatMul: n:model instead of k:model if level.node.bytes_per_second rises above 1.5 "
                            "times today's"));
  CHECK_THAT(text, Catch::Contains("device.memory_bytes_per_second 80%") && Catch::Contains("+20.0 %") &&
                       Catch::Contains("2 of 4") && Catch::Contains("no plan fits 8 devices"));
}

TEST_CASE("documents have what the text has: values, also those whose names are no patterns, and merged ops") {
  Plan plan = samplePlan();
  StagePlan &stage = plan.stages.front();
  stage.shardings[0].value = "w[";
  stage.choices[0].merged = {"h.0/Softmax"};
  std::string value = llvm::cantFail(explainOpJson(plan, "w["));
  CHECK_THAT(value, Catch::Contains("\"ops\": []") && Catch::Contains("\"value\": \"w[\""));
  std::string merged = llvm::cantFail(explainOpJson(plan, "h.0/Softmax"));
  CHECK_THAT(merged, Catch::Contains("\"op\": \"" + stage.choices[0].op + "\"") && Catch::Contains("\"values\": []"));
}

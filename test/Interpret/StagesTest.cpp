// Programs of two stages, by hand: their results, and faults that are found.
#include "TestPrograms.h"

#include <catch2/catch.hpp>

using namespace apc;
using Catch::Contains;

namespace {

/// h = x + x goes on, its gradient g comes back, the sum of all g is the result. A number n goes on once a step.
const char *const first = R"(
func.func @main(%x: tensor<2xf32> {apc.name = "x"}) -> (tensor<2xf32> {apc.name = "sum"}) {
  %n = apc.constant dense<3.0> : tensor<f32>
  %m = "apc.neg"(%n) : (tensor<f32>) -> tensor<f32>
  apc.send %m "n" "step" : tensor<f32>
  %h = "apc.add"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  apc.send %h "h" "micro_batch" : tensor<2xf32>
  apc.part_end "forward"
  %g = apc.receive "g" "micro_batch" "input" : tensor<2xf32> loc("receive g")
  %s = "apc.accumulate"(%g) : (tensor<2xf32>) -> tensor<2xf32>
  apc.micro_batch_end 2
  apc.send %s "s" "step" : tensor<2xf32>
  %t = apc.receive "t" "step" "input" : tensor<2xf32> loc("receive t")
  return %t : tensor<2xf32>
})";

/// y = h + n, g = h h; t = -s at the end. On two ranks, each of which has one element.
const char *const second = R"(
#mesh = #apc.mesh<[a=2]>
module attributes {apc.mesh = #mesh} {
func.func @main() -> (tensor<1xf32> {apc.name = "total", apc.sharding = #apc.sharding<#mesh, [a]>, apc.shape = array<i64: 2>}) {
  %h = apc.receive "h" "micro_batch" "input" {apc.sharding = #apc.sharding<#mesh, [a]>, apc.shape = array<i64: 2>} : tensor<1xf32> loc("receive h")
  %n = apc.receive "n" "step" "input" {apc.sharding = #apc.sharding<#mesh, []>, apc.shape = array<i64>} : tensor<f32> loc("receive n")
  %y = "apc.add"(%h, %n) : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %total = "apc.accumulate"(%y) : (tensor<1xf32>) -> tensor<1xf32>
  apc.part_end "forward"
  %g = "apc.mul"(%h, %h) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  apc.send %g "g" "micro_batch" {apc.sharding = #apc.sharding<#mesh, [a]>, apc.shape = array<i64: 2>} : tensor<1xf32>
  apc.micro_batch_end 2
  %s = apc.receive "s" "step" "input" {apc.sharding = #apc.sharding<#mesh, [a]>, apc.shape = array<i64: 2>} : tensor<1xf32> loc("receive s")
  %t = "apc.neg"(%s) : (tensor<1xf32>) -> tensor<1xf32>
  apc.send %t "t" "step" {apc.sharding = #apc.sharding<#mesh, [a]>, apc.shape = array<i64: 2>} : tensor<1xf32>
  return %total : tensor<1xf32>
}
})";

std::string without(std::string text, const std::string &line) {
  size_t begin = text.find(line);
  REQUIRE(begin != std::string::npos);
  return text.erase(begin, text.find('\n', begin) - begin);
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

/// "F0 B0": by worker, which holds the stage with its number.
using Lists = std::vector<std::vector<ProgramAction>>;
std::vector<ProgramAction> actions(unsigned stage, const std::string &text) {
  std::vector<ProgramAction> list;
  for (size_t at = 0; at < text.size(); at += 3)
    list.push_back({static_cast<ProgramPart>(std::string("FIWB").find(text[at])), stage, text[at + 1] - '0'});
  return list;
}
Lists lists(const std::string &one, const std::string &two) { return {actions(0, one), actions(1, two)}; }

llvm::Expected<std::vector<Tensor>> runStages(const std::string &one, const std::string &two, Lists workers) {
  static std::vector<std::unique_ptr<TestProgram>> kept; // of tensors that are compared
  kept.push_back(std::make_unique<TestProgram>(one));
  kept.push_back(std::make_unique<TestProgram>(two, *kept.back()));
  Program program;
  program.stages.push_back({std::move(kept[kept.size() - 2]->module), 0, 1});
  program.stages.push_back({std::move(kept.back()->module), 1, 2});
  program.workers = std::move(workers);
  program.inputs = {"x"};
  program.results = {"total", "sum"};
  mlir::MLIRContext &context = *kept.back()->context;
  return runGrid(program, {counted(context, {2}, 1), counted(context, {2}, 3)}, noParameter);
}

std::string faultOf(const std::string &one, const std::string &two, Lists workers) {
  return errorOf(runStages(one, two, std::move(workers)));
}

} // namespace

TEST_CASE("Two stages hand values to each other, whatever the order of their actions") {
  for (const Lists &workers : {lists("F0 F1 B0 B1", "F0 B0 F1 B1"), lists("F0 F1 B1 B0", "F0 F1 B1 B0"),
                               lists("F1 F0 B0 B1", "F1 F0 B0 B1"), lists("F0 B0 F1 B1", "F0 B0 F1 B1")}) {
    auto results = runStages(first, second, workers);
    if (!results)
      FAIL(takeMessage(results.takeError()).second);
    // x = (1, 2), (3, 4); h = (2, 4), (6, 8); y = h - 3; g = h h, summed
    CHECK((*results)[0].floats == std::vector<double>{2, 6});
    CHECK((*results)[1].floats == std::vector<double>{-40, -80});
  }
}

TEST_CASE("One worker with both stages interleaves their updates") {
  std::string own = replaced(second, "[a=2]", "[]");
  for (const char *text : {"tensor<1xf32>", "[a]"})
    while (own.find(text) != std::string::npos)
      own = replaced(own, text, text[0] == '[' ? "[-]" : "tensor<2xf32>");
  TestProgram one(first), two(own, one);
  Program program;
  program.stages.push_back({std::move(one.module), 0, 1});
  program.stages.push_back({std::move(two.module), 0, 1});
  program.workers = {{{ProgramPart::Forward, 0, 0},
                      {ProgramPart::Forward, 1, 0},
                      {ProgramPart::Backward, 1, 0},
                      {ProgramPart::Backward, 0, 0},
                      {ProgramPart::Forward, 0, 1},
                      {ProgramPart::Forward, 1, 1},
                      {ProgramPart::Backward, 1, 1},
                      {ProgramPart::Backward, 0, 1}}};
  program.inputs = {"x"};
  program.results = {"sum"};
  auto results = runGrid(program, {counted(*one.context, {2}, 1), counted(*one.context, {2}, 3)}, noParameter);
  if (!results)
    FAIL(takeMessage(results.takeError()).second);
  CHECK((*results)[0].floats == std::vector<double>{-40, -80});
}

TEST_CASE("Stages that wait for each other are a deadlock, with ranks, actions and values") {
  Lists good = lists("F0 F1 B0 B1", "F0 B0 F1 B1");
  CHECK(faultOf(first, second, lists("F0 B0 F1 B1", "F1 B1 F0 B0")) ==
        "deadlock: 0 ranks are done, the others wait for ever: rank 0 at apc.receive 'receive g' in B0 of stage 0, for "
        "'g' of micro-batch 0, nothing of which has come, rank 1 at apc.receive 'receive h' in F1 of stage 1, for 'h' "
        "of micro-batch 1, nothing of which has come, rank 2 at apc.receive 'receive h' in F1 of stage 1, for 'h' of "
        "micro-batch 1, nothing of which has come");
  SECTION("a send that is not there") {
    CHECK_THAT(
        faultOf(without(first, "  apc.send %h"), second, good),
        Contains("rank 1 at apc.receive 'receive h' in F0 of stage 1, for 'h' of micro-batch 0, nothing of which"));
    CHECK_THAT(
        faultOf(first, without(second, "  apc.send %t"), good),
        Contains("deadlock: 2 ranks are done, the others wait for ever: rank 0 at apc.receive 'receive t' in the "
                 "update of stage 0, for 't' of the step, nothing of which has come"));
  }
}

TEST_CASE("Lists that do not fit the stages are errors") {
  std::string good = "F0 F1 B0 B1";
  CHECK(faultOf(first, second, lists("B0 F0 F1 B1", good)) == "rank 0: B0 of stage 0: the stage has run its forward "
                                                              "part instead");
  CHECK(faultOf(first, second, lists("F0 F1 I0 B1", good)) ==
        "rank 0: I0 of stage 0: the stage has run its last part instead");
  CHECK(faultOf(first, second, lists("F0 F1 B0", good)) ==
        "rank 0: stage 0 has run 1 of its 2 micro-batches to their end");
  CHECK(faultOf(first, second, lists("F0 F1 B0 B0", good)) ==
        "rank 0: B0 of stage 0: the stage has no part of the micro-batch left to run");
  CHECK(faultOf(first, second, lists("F0 F1 F2 B1", good)) ==
        "rank 0: F2 of stage 0: the stage has no part of the micro-batch left to run");
  CHECK(faultOf(first, second, {actions(0, good)}) == "stage 1 of the program is in the list of no worker");
  CHECK(faultOf(first, second, {actions(0, good), actions(1, good), actions(1, good)}) ==
        "stage 1 of the program is in the lists of two workers");
  CHECK(faultOf(first, second, {actions(0, good), actions(2, good)}) == "stage 2 of the program is not there");
  std::vector<ProgramAction> both = actions(0, good);
  both.push_back({ProgramPart::Forward, 1, 0});
  CHECK(faultOf(first, second, {both}) == "stages 0 and 1 are one worker's, but have other ranks");
}

TEST_CASE("Transfers that do not fit are errors") {
  Lists good = lists("F0 F1 B0 B1", "F0 B0 F1 B1");
  SECTION("other shapes") {
    std::string other = replaced(first, "  apc.send %h \"h\" \"micro_batch\" : tensor<2xf32>",
                                 "  apc.send %m \"h\" \"micro_batch\" : tensor<f32>");
    CHECK_THAT(faultOf(other, second, good), Contains("rank 1: 'h' of micro-batch 0 is [] of f32 with 1 elements, not "
                                                      "tensor<2xf32>"));
  }
  SECTION("two senders") {
    std::string other = replaced(second, "%g \"g\" \"micro_batch\"", "%g \"h\" \"micro_batch\"");
    CHECK_THAT(faultOf(first, other, good), Contains("'h' of micro-batch 0 is sent by the stages 0 and 1"));
  }
  SECTION("ranks that do not agree") {
    std::string other =
        replaced(second, "\"g\" \"micro_batch\" {apc.sharding = #apc.sharding<#mesh, [a]>, apc.shape = array<i64: 2>}",
                 "\"g\" \"micro_batch\" {apc.sharding = #apc.sharding<#mesh, [-]>, apc.shape = array<i64: 1>}");
    CHECK_THAT(faultOf(first, other, good),
               Contains("'g' of micro-batch 0: ranks 0 and 1 hold element 0 of [1] and differ in it"));
  }
}

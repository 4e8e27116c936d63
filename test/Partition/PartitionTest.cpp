// Programs worked out by hand.
#include "../ValueOf.h"
#include "ProgramSamples.h"

#include "apc/Partition/Partition.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The program, or the error's message.
std::string programOf(const Sample &sample, const Plan &plan) {
  auto program = partition(*sample.module, plan);
  return program ? print(*program->onlyStage().module) : takeMessage(program.takeError()).second;
}

/// The lines are in `text` in this order.
void checkLines(const std::string &text, llvm::ArrayRef<const char *> lines) {
  INFO(text);
  size_t from = 0;
  for (const char *line : lines) {
    INFO(line);
    size_t found = text.find(line, from);
    CHECK(found != std::string::npos);
    from = found == std::string::npos ? from : found + 1;
  }
}

size_t count(llvm::StringRef text, llvm::StringRef word) { return text.count(word); }

} // namespace

TEST_CASE("Megatron's MLP: the hidden dim is cut, one all-reduce at the end") {
  Sample sample(mlp);
  std::string program = programOf(sample, sample.plan("[2 | 2]", megatron));
  checkLines(
      program,
      {R"(#mesh = #apc.mesh<[node=2 | device=2]>)",
       R"(%arg0: tensor<3x5xf32> {apc.name = "x", apc.shape = array<i64: 6, 5>, apc.sharding = #apc.sharding<#mesh, [node, -]>})",
       R"(-> (tensor<3x7xf32> {apc.name = "y", apc.shape = array<i64: 6, 7>, apc.sharding = #apc.sharding<#mesh, [node, -]>}))",
       R"(%0 = apc.parameter "w1" "initializer" {apc.shape = array<i64: 5, 8>, apc.sharding = #apc.sharding<#mesh, [-, device]>})",
       R"(%1 = apc.parameter "w2" "initializer" {apc.shape = array<i64: 8, 7>, apc.sharding = #apc.sharding<#mesh, [device, -]>})",
       R"(%2 = "apc.matmul"(%arg0, %0) {apc.op = "up", apc.strategy = #apc.strategy<#mesh, m:node n:device>})",
       R"(%3 = "apc.relu"(%2) {apc.op = "act", apc.strategy = #apc.strategy<#mesh, b0:node b1:device>})",
       R"(%4 = "apc.matmul"(%3, %1) {apc.op = "down", apc.strategy = #apc.strategy<#mesh, m:node k:device>})",
       R"(%5 = apc.all_reduce %4 <#mesh, AllReduce{device}, [node, -] sum{device} -> [node, -] of [6, 7]>)",
       "return %5"});
}

TEST_CASE("5 over 2 devices: padding is masked, the addend kept on the first device of the sum") {
  Sample sample(gemm);
  std::string program = programOf(sample, sample.plan("[2, 2]", unevenGemm));
  checkLines(program,
             {R"(%2 = apc.mask_padding %arg0 dim 1 of 5 <#mesh, (node.b)> <sum> : tensor<6x3xf32>)",
              R"(%3 = apc.mask_padding %0 dim 0 of 5 <#mesh, (node.b)> <sum> : tensor<3x4xf32>)",
              R"(%4 = apc.keep_on_first %1 <#mesh, (node.b)> : tensor<4xf32>)", R"("apc.gemm"(%2, %3, %4))",
              R"(apc.reduce_scatter %5 <#mesh, ReduceScatter{node.b}, [-, -] sum{node.b} -> [node.b, -] of [6, 4]>)",
              R"(apc.shard_slice %7 <#mesh, Slice{node.a}, [node.b, -] -> [node.b, node.a])",
              R"(apc.permute %8 <#mesh, Permute{node.a node.b}, [node.b, node.a] -> [node.a, node.b])",
              R"(apc.all_gather %11 <#mesh, AllGather{node.b}, [node.a, node.b] -> [node.a, -] of [4, 6]>)"});
}

TEST_CASE("A value that two ops want in one sharding moves once") {
  Sample sample(R"(
func.func @main(%x: tensor<4x4xf32> {apc.name = "x"}) -> (tensor<4x4xf32> {apc.name = "y"}) {
  %0 = "apc.relu"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("a")
  %1 = "apc.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("b")
  %2 = "apc.add"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("c")
  return %2 : tensor<4x4xf32>
})");
  std::string program = programOf(sample, sample.plan("[2]", {{"x", "d0:x0"}}));
  CHECK(count(program, "apc.all_gather") == 1);
}

TEST_CASE("Repeated layers become one function") {
  std::string text =
      R"(func.func @main(%x0: tensor<8x6xf32> {apc.name = "x"}) -> (tensor<8x6xf32> {apc.name = "y"}) {)";
  std::map<std::string, std::string> strategies;
  for (int layer = 0; layer < 12; ++layer) {
    std::string n = std::to_string(layer), next = std::to_string(layer + 1);
    text += "%u" + n + " = apc.parameter \"u" + n + "\" \"initializer\" : tensor<6x10xf32>\n";
    text += "%v" + n + " = apc.parameter \"v" + n + "\" \"initializer\" : tensor<10x6xf32>\n";
    text += "%h" + n + " = \"apc.matmul\"(%x" + n + ", %u" + n +
            ") : (tensor<8x6xf32>, tensor<6x10xf32>) -> tensor<8x10xf32> loc(\"up" + n + "\")\n";
    text += "%r" + n + " = \"apc.relu\"(%h" + n + ") : (tensor<8x10xf32>) -> tensor<8x10xf32> loc(\"act" + n + "\")\n";
    text += "%d" + n + " = \"apc.matmul\"(%r" + n + ", %v" + n +
            ") : (tensor<8x10xf32>, tensor<10x6xf32>) -> tensor<8x6xf32> loc(\"down" + n + "\")\n";
    text += "%x" + next + " = \"apc.tanh\"(%d" + n + ") : (tensor<8x6xf32>) -> tensor<8x6xf32> loc(\"end" + n + "\")\n";
    strategies["u" + n] = "d1:x0";
    strategies["v" + n] = "d0:x0";
    strategies["up" + n] = "n:x0";
    strategies["act" + n] = "b1:x0";
    strategies["down" + n] = "k:x0";
  }
  Sample sample(text + "return %x12 : tensor<8x6xf32>\n}");
  std::string program = programOf(sample, sample.plan("[2]", strategies));
  INFO(program);
  CHECK(count(program, "func.func private") == 1);
  CHECK(count(program, "call @") >= 11);
  CHECK(count(program, "apc.all_reduce") <= 2);
  CHECK(count(program, "apc.parameter") == 24);
}

TEST_CASE("A plan may leave devices without work") {
  Sample sample(mlp);
  Plan plan = sample.plan("[2 | 2]", megatron);
  plan.request.devices = 8;
  Program program = valueOf(partition(*sample.module, plan));
  REQUIRE(program.stages.size() == 1);
  CHECK(program.onlyStage().firstRank == 0);
  CHECK(program.onlyStage().numRanks == 4);
  CHECK_THAT(print(*program.onlyStage().module), Catch::Contains("[node=2 | device=2]"));
}

TEST_CASE("Plans that do not fit are refused by name") {
  Sample sample(mlp);
  Plan plan = sample.plan("[2 | 2]", megatron);
  SECTION("an op without a choice") {
    llvm::erase_if(plan.stages[0].choices, [](const PlanChoice &choice) { return choice.op == "act"; });
    CHECK(programOf(sample, plan) == "plan: no choice for op 'act'; the plan was made for another model");
  }
  SECTION("a strategy that cuts what is not there") {
    plan.stages[0].choices[1].strategy = valueOf(NamedStrategy::parse("b7:node"));
    CHECK_THAT(programOf(sample, plan), Catch::Contains("plan: op 'act'") && Catch::Contains("b7"));
  }
  SECTION("a strategy that uses an axis twice") {
    plan.stages[0].choices[0].strategy = valueOf(NamedStrategy::parse("m:node n:node"));
    CHECK_THAT(programOf(sample, plan), Catch::Contains("plan: op 'up'") && Catch::Contains("node"));
  }
  SECTION("a legal strategy that no move leads to") {
    plan.stages[0].choices[1].strategy = valueOf(NamedStrategy::parse("b0:device"));
    CHECK_THAT(programOf(sample, plan), Catch::Contains("op 'act' needs value 'up' as [device, -]"));
  }
  SECTION("another shape") {
    plan.stages[0].shardings[0].shape = {7, 5};
    CHECK_THAT(programOf(sample, plan), Catch::Contains("value 'x' has another shape"));
  }
  SECTION("a step that cannot be taken") {
    plan.stages[0].moves[0].collectives = {"AllGather{device} 0"};
    CHECK_THAT(programOf(sample, plan), Catch::Contains("value 'down'"));
  }
  SECTION("collectives that end elsewhere") {
    plan.stages[0].moves[0].collectives = {"ReduceScatter{device} ->1"};
    CHECK_THAT(programOf(sample, plan), Catch::Contains("the collectives of value 'down' lead to [node, device]"));
  }
  SECTION("a mesh of other devices") {
    plan.request.devices = 2;
    CHECK(programOf(sample, plan) == "plan: the mesh has at least 4 devices, the plan 2");
  }
  SECTION("an axis twice") {
    plan.stages[0].mesh.axes[1].name = "node";
    CHECK_THAT(programOf(sample, plan), Catch::Contains("mesh axis 'node'"));
  }
}

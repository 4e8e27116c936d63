// Moves of a plan that are taken together: one collective in the program, proven, and faults in buckets named.
#include "../ValueOf.h"
#include "ProgramSamples.h"

#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Support/Error.h"

#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Two weights of the same shape.
const char *const square = R"(
func.func @main(%x: tensor<6x6xf32> {apc.name = "x"}) -> (tensor<6x6xf32> {apc.name = "y"}) {
  %w1 = apc.parameter "w1" "initializer" : tensor<6x6xf32>
  %0 = "apc.matmul"(%x, %w1) : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32> loc("up")
  %1 = "apc.relu"(%0) : (tensor<6x6xf32>) -> tensor<6x6xf32> loc("act")
  %w2 = apc.parameter "w2" "initializer" : tensor<6x6xf32>
  %2 = "apc.matmul"(%1, %w2) : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32> loc("down")
  return %2 : tensor<6x6xf32>
})";

/// The plan with the moves of these values in one bucket, and room for their copies.
Plan withBucket(Plan plan, llvm::ArrayRef<const char *> values) {
  StagePlan &stage = plan.stages.front();
  PlanBucket bucket;
  for (const char *value : values)
    for (size_t move = 0; move < stage.moves.size(); ++move)
      if (stage.moves[move].values.front() == value)
        bucket.moves.push_back(static_cast<unsigned>(move));
  REQUIRE(bucket.moves.size() == values.size());
  bucket.collectives = stage.moves[bucket.moves.front()].collectives;
  stage.buckets = {bucket};
  plan.memory[MemoryCategory::Activations] += 1024;
  return plan;
}

std::string faultOf(const Sample &sample, const Plan &plan) {
  auto program = partition(*sample.module, plan);
  return program ? "" : takeMessage(program.takeError()).second;
}

} // namespace

TEST_CASE("Moves of a bucket are one collective before the first use of any") {
  Sample sample(square);
  Plan alone = sample.plan("[2 | 2]", {{"w1", "d0:x1"}, {"w2", "d1:x1"}});
  Plan together = withBucket(alone, {"w1", "w2"});
  auto before = valueOf(partition(*sample.module, alone)), after = valueOf(partition(*sample.module, together));
  CHECK(valueOf(verifyProgram(*sample.module, before, alone)).numCollectives == 2);
  CHECK(valueOf(verifyProgram(*sample.module, after, together)).numCollectives == 1);
  std::string text = print(*after.onlyStage().module);
  CHECK_THAT(text, Catch::Contains("apc.all_gather %0, %1 <#mesh, AllGather{device}, [device, -] -> [-, -] of [6, 6], "
                                   "[-, device] -> [-, -] of [6, 6]>"));
  // Values exchanged in the other order are other values: what follows reads the wrong weight.
  size_t place = text.find("apc.all_gather %0, %1");
  REQUIRE(place != std::string::npos);
  auto judge = [&](const std::string &faulty) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(faulty, sample.context.get());
    REQUIRE(module);
    auto proof = verifyProgram(*sample.module, Program::ofOneStage(std::move(module), 4), together);
    return proof ? std::string() : takeMessage(proof.takeError()).second;
  };
  CHECK(judge(text) == "");
  std::string results = text;
  size_t first = results.find("#0)"), second = results.find("#1)");
  REQUIRE(first != std::string::npos);
  REQUIRE(second != std::string::npos);
  std::swap(results[first + 1], results[second + 1]);
  CHECK_THAT(judge(results), Catch::Contains("apc.matmul 'up': no op of the model reads these values"));
}

TEST_CASE("Moves that cannot be taken together are refused with their values") {
  Sample sample(square);
  Plan other = sample.plan("[2 | 2]", {{"w1", "d0:x0"}, {"w2", "d0:x1"}});
  CHECK_THAT(faultOf(sample, withBucket(other, {"w1", "w2"})),
             Catch::Contains("plan: buckets[0]: values 'w1' and 'w2' are not taken by the same collectives"));
  // The result of act follows from the gathered w1.
  Plan circle = sample.plan("[2 | 2]", {{"w1", "d0:x1"}, {"act", "b0:x1"}});
  std::string made = circle.stages.front().moves.back().values.front();
  REQUIRE(made != "w1");
  CHECK_THAT(faultOf(sample, withBucket(circle, {"w1", made.c_str()})),
             Catch::Contains("an op that makes a value of a bucket waits for that bucket"));
}

TEST_CASE("An op that would wait for a value of a later part is refused") {
  Sample sample(R"(
func.func @main() -> () {
  %h = apc.receive "h" "micro_batch" "input" : tensor<6x6xf32> loc("receive h")
  %0 = "apc.relu"(%h) : (tensor<6x6xf32>) -> tensor<6x6xf32> loc("a")
  %1 = "apc.relu"(%0) : (tensor<6x6xf32>) -> tensor<6x6xf32> loc("b")
  apc.send %1 "b" "micro_batch" : tensor<6x6xf32> loc("send b")
  apc.part_end "forward"
  %g = apc.receive "g" "micro_batch" "input" : tensor<6x6xf32> loc("receive g")
  %2 = "apc.relu"(%g) : (tensor<6x6xf32>) -> tensor<6x6xf32> loc("c")
  %3 = "apc.relu"(%2) : (tensor<6x6xf32>) -> tensor<6x6xf32> loc("d")
  apc.send %3 "d" "micro_batch" : tensor<6x6xf32> loc("send d")
  apc.micro_batch_end 1
  return
})");
  Plan plan = sample.plan("[2]", {{"receive h", "d0:x0"}, {"a", "b0:x0"}, {"receive g", "d0:x0"}, {"c", "b0:x0"}});
  StageProgram alone = valueOf(partitionStage(*sample.module, plan.stages.front(), 2));
  valueOf(verifyStage(*sample.module, alone, plan.stages.front()));
  std::string text = print(*alone.module);
  CHECK_THAT(text, Catch::Contains(R"(apc.receive "h" "micro_batch" "input" {apc.shape = array<i64: 6, 6>, )"
                                   R"(apc.sharding = #apc.sharding<#mesh, [node, -]>} : tensor<3x6xf32>)"));
  CHECK_THAT(text, Catch::Contains(R"("b" "micro_batch" {apc.shape = array<i64: 6, 6>, )"
                                   R"(apc.sharding = #apc.sharding<#mesh, [-, -]>} : tensor<6x6xf32>)"));
  CHECK_THAT(faultOf(sample, withBucket(plan, {"a", "c"})),
             Catch::Contains(
                 "plan: buckets[0]: op 'b' would wait for value 'c', which a later part of the stage's work makes"));
}

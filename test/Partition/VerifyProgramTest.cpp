// Programs are proven; faults that a partitioner could make are caught.
#include "ProgramSamples.h"

#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

std::string programText(const Sample &sample, const Plan &plan) {
  auto program = partition(*sample.module, plan);
  if (!program)
    FAIL(takeMessage(program.takeError()).second);
  return print(**program);
}

/// What is wrong with the program of `text`; "" when it is proven. What does not parse is wrong, too.
std::string verdict(const Sample &sample, const std::string &text, const Plan &plan) {
  mlir::ScopedDiagnosticHandler quiet(sample.context.get(), [](mlir::Diagnostic &) { return mlir::success(); });
  auto program = mlir::parseSourceString<mlir::ModuleOp>(text, sample.context.get());
  if (!program)
    return "does not verify";
  auto proof = verifyProgram(*sample.module, *program, plan);
  return proof ? "" : takeMessage(proof.takeError()).second;
}

/// A fault planted into a program's text: the first `find` becomes `replace`.
struct Fault {
  const char *name, *find, *replace;
};

void checkCaught(const Sample &sample, const Plan &plan, llvm::ArrayRef<Fault> faults) {
  std::string text = programText(sample, plan);
  REQUIRE(verdict(sample, text, plan).empty());
  for (const Fault &fault : faults) {
    INFO(fault.name << "\n" << text);
    size_t place = text.find(fault.find);
    REQUIRE(place != std::string::npos);
    std::string faulty = text;
    faulty.replace(place, std::string(fault.find).size(), fault.replace);
    CHECK_FALSE(verdict(sample, faulty, plan).empty());
  }
}

} // namespace

TEST_CASE("Every program under strategies drawn by lot is proven") {
  const char *text = GENERATE(mlp, gemm, constants);
  Sample sample(text);
  for (const char *mesh : {"[2]", "[3]", "[2 | 2]", "[2 | 3]", "[2, 2, 2]"})
    for (uint64_t seed = 0; seed < 40; ++seed) {
      Plan plan = sample.drawnPlan(mesh, seed);
      INFO(mesh << " seed " << seed);
      CHECK(verdict(sample, programText(sample, plan), plan) == "");
    }
}

TEST_CASE("Faults in collectives are caught") {
  Sample sample(mlp);
  checkCaught(
      sample, sample.plan("[2 | 2]", megatron),
      {
          {"all-reduce over the wrong group", R"(apc.all_reduce %4 ["model"])", R"(apc.all_reduce %4 ["data"])"},
          {"all-reduce over too large a group", R"(all_reduce %4 ["model"])", R"(all_reduce %4 ["data", "model"])"},
          {"partial taken as whole", "return %5", "return %4"},
          {"partial said to be whole", R"("[data, -] sum{model}" to)", R"("[data, -]" to)"},
          {"maximum instead of sum", "sum{model}", "max{model}"},
          {"the wrong operand", R"("apc.matmul"(%3, %1))", R"("apc.matmul"(%2, %1))"},
          {"a wrong strategy", R"(apc.strategy = "m:data k:model")", R"(apc.strategy = "m:data")"},
          {"factors exchanged", R"(apc.strategy = "m:data n:model")", R"(apc.strategy = "m:model n:data")"},
          {"an op left out", R"("apc.matmul"(%3, %1))", R"("apc.matmul"(%2, %1))"},
          {"another op", R"("apc.relu"(%2))", R"("apc.exp"(%2))"},
          {"another parameter", R"(apc.parameter "w1")", R"(apc.parameter "w3")"},
          {"a parameter cut along the wrong axis", R"(apc.sharding = "[-, model]"} : tensor<5x4xf32>)",
           R"(apc.sharding = "[-, data]"} : tensor<5x4xf32>)"},
          {"a parameter of another shape", "array<i64: 5, 8>, apc.sharding = \"[-, model]\"} : tensor<5x4xf32>",
           "array<i64: 5, 8>, apc.sharding = \"[model, -]\"} : tensor<5x4xf32>"},
          {"an argument of another layout", R"(apc.sharding = "[data, -]"}) ->)",
           R"(apc.sharding = "[model, -]"}) ->)"},
          {"a result of another layout", R"(array<i64: 6, 7>, apc.sharding = "[data, -]")",
           R"(array<i64: 6, 7>, apc.sharding = "[model, -]")"},
          {"an argument of another name", R"(apc.name = "x")", R"(apc.name = "y")"},
          {"another mesh", "[data=2 | model=2]", "[data=2 | model=4]"},
      });
}

TEST_CASE("Faults in masks, addends and movements are caught") {
  Sample sample(gemm);
  checkCaught(
      sample, sample.plan("[2, 2]", unevenGemm),
      {
          {"a mask left out", R"("apc.gemm"(%2, %3, %4))", R"("apc.gemm"(%arg0, %3, %4))"},
          {"the other mask left out", R"("apc.gemm"(%2, %3, %4))", R"("apc.gemm"(%2, %0, %4))"},
          {"a mask of the wrong dim", "mask_padding %arg0 dim 1 of 5", "mask_padding %arg0 dim 0 of 5"},
          {"a mask of the wrong size", "mask_padding %arg0 dim 1 of 5", "mask_padding %arg0 dim 1 of 6"},
          {"a mask along the wrong axis", R"(dim 1 of 5 ["model2"])", R"(dim 1 of 5 ["model"])"},
          {"a mask with the wrong neutral element", R"(dim 1 of 5 ["model2"] "sum")",
           R"(dim 1 of 5 ["model2"] "prod")"},
          {"the addend added by all", R"("apc.gemm"(%2, %3, %4))", R"("apc.gemm"(%2, %3, %1))"},
          {"the addend kept along the wrong axis", R"(keep_on_first %1 ["model2"])", R"(keep_on_first %1 ["model"])"},
          {"reduce-scatter to the wrong dim", R"(to "[model2, -]" of [6, 4])", R"(to "[-, model2]" of [6, 4])"},
          {"reduce-scatter over the wrong group", R"(reduce_scatter %5 ["model2"])", R"(reduce_scatter %5 ["model"])"},
          {"a slice of the wrong dim", R"("[model2, -]" to "[model2, model]")",
           R"("[model2, -]" to "[model, model2]")"},
          {"a slice along the wrong axis", R"(shard_slice %7 ["model"])", R"(shard_slice %7 ["model2"])"},
          {"a movement left out", R"("apc.transpose"(%9))", R"("apc.transpose"(%8))"},
          {"gathered over the wrong axis", R"(all_gather %11 ["model2"])", R"(all_gather %11 ["model"])"},
          {"gathered along the wrong dim", R"("[model, model2]" to "[model, -]")",
           R"("[model, model2]" to "[-, model2]")"},
          {"another order of dims", "array<i64: 1, 0>}> {apc.op", "array<i64: 0, 1>}> {apc.op"},
      });
}

TEST_CASE("Faults in constants, attributes and offsets are caught") {
  Sample sample(constants);
  Plan plan = sample.plan("[2 | 2]", {{"turn", "d0:x0 d1:x1"},
                                      {"part", "i0:x0 i1:x1"},
                                      {"join", "i0:x0"},
                                      {"scale", "b0:x0 b1:x1"},
                                      {"take", "v:x0"}});
  checkCaught(
      sample, plan,
      {
          {"a size of the whole tensor", "dense<[3, 6]>", "dense<[6, 6]>"},
          {"sizes of another piece", "dense<[3, 1, 3]>", "dense<[1, 3, 3]>"},
          {"another constant", "5.000000e+00", "7.000000e+00"},
          {"another part of a constant", R"(shard_slice %2 ["data"] "[-]" to "[data]")",
           R"(shard_slice %2 ["model"] "[-]" to "[model]")"},
          {"a square not turned", "array<i64: 1, 0>}> {apc.op", "array<i64: 0, 1>}> {apc.op"},
          {"rows counted from the wrong place", R"(shard_offset ["model"] of 6)", R"(shard_offset ["data"] of 6)"},
          {"rows of another axis", "axis = 0 : i64, size = 6", "axis = 1 : i64, size = 6"},
          {"a table of another size", "axis = 0 : i64, size = 6", "axis = 0 : i64, size = 3"},
          {"pieces in the wrong places", R"("apc.reshape"(%6, %0))", R"("apc.reshape"(%5, %0))"},
          {"rows of the whole table", R"("apc.gather"(%16, %arg1, %17) <{axis = 0 : i64, size = 6 : i64}>)",
           R"("apc.gather"(%16, %arg1) <{axis = 0 : i64}>)"},
      });
}

TEST_CASE("A program that needs more memory than its plan says is refused") {
  Sample sample(mlp);
  Plan plan = sample.plan("[2 | 2]", megatron);
  std::string text = programText(sample, plan);
  plan.memory.parameters -= 1;
  CHECK_THAT(verdict(sample, text, plan), Catch::Contains("bytes of parameters"));
}

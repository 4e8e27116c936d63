// Programs are proven; faults that a partitioner could make are found and named.
#include "../ValueOf.h"
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
  return print(*valueOf(partition(*sample.module, plan)).onlyStage().module);
}

/// The judgement of a text: does it parse and verify as MLIR, and is it proven? Empty messages where it does and is.
struct Verdict {
  std::string refusal; ///< by MLIR's parser and verifiers
  std::string fault;   ///< found by the proof
};

Verdict judge(const Sample &sample, const std::string &text, const Plan &plan) {
  Verdict verdict;
  mlir::ScopedDiagnosticHandler collect(sample.context.get(), [&](mlir::Diagnostic &diagnostic) {
    verdict.refusal += (verdict.refusal.empty() ? "" : "; ") + diagnostic.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, sample.context.get());
  if (!module)
    return verdict;
  auto proof = verifyProgram(*sample.module, Program::ofOneStage(std::move(module), 4), plan);
  if (!proof)
    verdict.fault = takeMessage(proof.takeError()).second;
  return verdict;
}

/// A fault planted into a program's text: the first `find` becomes `replace`. The message that it must bring about.
struct Fault {
  const char *name, *find, *replace, *message;
};

enum class FoundBy { Proof, Mlir };

void checkCaught(const Sample &sample, const Plan &plan, FoundBy finder, llvm::ArrayRef<Fault> faults) {
  std::string text = programText(sample, plan);
  Verdict clean = judge(sample, text, plan);
  REQUIRE(clean.refusal == "");
  REQUIRE(clean.fault == "");
  for (const Fault &fault : faults) {
    INFO(fault.name << "\n" << text);
    size_t place = text.find(fault.find);
    REQUIRE(place != std::string::npos);
    std::string faulty = text;
    faulty.replace(place, std::string(fault.find).size(), fault.replace);
    Verdict verdict = judge(sample, faulty, plan);
    if (finder == FoundBy::Proof)
      CHECK(verdict.refusal == "");
    CHECK_THAT(finder == FoundBy::Proof ? verdict.fault : verdict.refusal, Catch::Contains(fault.message));
  }
}

} // namespace

TEST_CASE("Every program under random strategies is proven") {
  const char *text = GENERATE(mlp, gemm, constants);
  Sample sample(text);
  for (const char *mesh : {"[2]", "[3]", "[2 | 2]", "[2 | 3]", "[2, 2, 2]"})
    for (uint64_t seed = 0; seed < 40; ++seed) {
      Plan plan = sample.drawnPlan(mesh, seed);
      INFO(mesh << " seed " << seed);
      Verdict verdict = judge(sample, programText(sample, plan), plan);
      CHECK(verdict.refusal == "");
      CHECK(verdict.fault == "");
    }
}

TEST_CASE("Faults in collectives are found") {
  Sample sample(mlp);
  Plan plan = sample.plan("[2 | 2]", megatron);
  checkCaught(
      sample, plan, FoundBy::Proof,
      {
          {"all-reduce over the wrong group", "AllReduce{model}, [data, -] sum{model} -> [data, -]",
           "AllReduce{data}, [model, -] sum{data} -> [model, -]",
           "apc.all_reduce: starts from [model, -] sum{data}, but the value is [data, -] sum{model}"},
          {"partial taken as whole", "return %5", "return %4",
           "result 'y' is [data, -] sum{model}, said to be [data, -]; a result must not be partial"},
          {"a maximum instead of a sum", "sum{model}", "max{model}",
           "starts from [data, -] max{model}, but the value is [data, -] sum{model}"},
          {"another whole tensor", "of [6, 7]>", "of [5, 7]>", "the whole tensor is [6, 7], not [5, 7]"},
          {"the wrong operand", R"("apc.matmul"(%3, %1))", R"("apc.matmul"(%2, %1))",
           "apc.matmul 'down': no op of the model reads these values"},
          {"a wrong strategy", "m:data k:model", "m:data",
           "apc.matmul 'down': operand 0 is [data, model], but strategy 'm:data' needs [data, -]"},
          {"a strategy of factors that the op does not have", "m:data k:model", "m:data h:model",
           "apc.matmul 'down': strategy 'm:data h:model': 'h' is no factor of"},
          {"factors exchanged", "m:data n:model", "m:model n:data",
           "apc.matmul 'up': operand 0 is [data, -], but strategy 'm:model n:data' needs [model, -]"},
          {"another op", R"("apc.relu"(%2))", R"("apc.exp"(%2))",
           "apc.exp 'act': no op of the model reads these values"},
          {"another parameter", R"(apc.parameter "w1")", R"(apc.parameter "w3")", "the model has no parameter 'w3'"},
          {"a parameter cut along the wrong axis", "[-, model]>} : tensor<5x4xf32>", "[-, data]>} : tensor<5x4xf32>",
           "apc.matmul 'up': operand 1 is [-, data], but strategy 'm:data n:model' needs [-, model]"},
          {"a parameter cut along the wrong dim", "[-, model]>} : tensor<5x4xf32>", "[model, -]>} : tensor<5x4xf32>",
           "parameter 'w1' is [5, 4]; a piece of [5, 8] under [model, -] is [3, 8]"},
          {"a parameter of other dims", "[-, model]>} : tensor<5x4xf32>", "[-]>} : tensor<5x4xf32>",
           "parameter 'w1': a sharding of 1 dims does not fit a tensor of 2 dims"},
          {"a parameter on another mesh", "#apc.sharding<#mesh, [-, model]>} : tensor<5x4xf32>",
           "#apc.sharding<#apc.mesh<[model=2]>, [-, model]>} : tensor<5x4xf32>",
           "parameter 'w1' has no attribute 'apc.sharding' for the mesh [data=2 | model=2]"},
          {"an argument of another sharding", "[data, -]>}) ->", "[model, -]>}) ->",
           "apc.matmul 'up': operand 0 is [model, -], but strategy 'm:data n:model' needs [data, -]"},
          {"a result of another sharding", "array<i64: 6, 7>, apc.sharding = #apc.sharding<#mesh, [data, -]",
           "array<i64: 6, 7>, apc.sharding = #apc.sharding<#mesh, [model, -]",
           "result 'y' is [data, -], said to be [model, -]"},
          {"an argument of another name", R"(apc.name = "x")", R"(apc.name = "y")",
           "argument 0 of the program is no input of the model"},
          {"another mesh", "[data=2 | model=2]", "[data=2 | model=4]",
           "the program is for the mesh [data=2 | model=4], the plan for [data=2 | model=2]"},
      });
  checkCaught(sample, plan, FoundBy::Mlir,
              {
                  {"a step that the group does not take", "AllReduce{model}", "AllReduce{data}",
                   "AllReduce{data} does not take [data, -] sum{model} to [data, -]"},
                  {"all-reduce over too large a group", "AllReduce{model}", "AllReduce{data model}",
                   "AllReduce{data model} does not take [data, -] sum{model} to [data, -]"},
                  {"partial said to be whole", "[data, -] sum{model} ->", "[data, -] ->",
                   "AllReduce{model} does not take [data, -] to [data, -]"},
              });
}

TEST_CASE("A collective of two values is proven value by value") {
  Sample sample(R"(
func.func @main(%x: tensor<4x4xf32> {apc.name = "x"}) -> (tensor<4x4xf32> {apc.name = "y"}, tensor<4x4xf32> {apc.name = "z"}) {
  %0 = "apc.relu"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("a")
  %1 = "apc.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("b")
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
})");
  Plan plan = sample.plan("[2]", {{"x", "d0:x0"}, {"a", "b0:x0"}, {"b", "b0:x0"}});
  std::string text = programText(sample, plan);
  // The two gathers of the program as one, which keeps both pieces until both gathered values are there.
  plan.memory[MemoryCategory::Activations] += 32;
  size_t first = text.find("%2 = apc.all_gather"), end = text.find("return");
  INFO(text);
  REQUIRE(first != std::string::npos);
  const std::string step = "[AXIS, -] -> [-, -] of [4, 4]", piece = "tensor<2x4xf32>", all = "tensor<4x4xf32>";
  auto merged = [&](const std::string &a, const std::string &b) {
    std::string axis = text.substr(text.find("AllGather{") + 10);
    axis = axis.substr(0, axis.find('}'));
    auto of = [&](std::string value) { return value.replace(1, 4, axis); };
    return text.substr(0, first) + "%2, %3 = apc.all_gather %0, %1 <#mesh, AllGather{" + axis + "}, " + of(a) + ", " +
           of(b) + "> : (" + piece + ", " + piece + ") -> (" + all + ", " + all + ")\n" + text.substr(end);
  };
  Verdict verdict = judge(sample, merged(step, step), plan);
  CHECK(verdict.refusal == "");
  CHECK(verdict.fault == "");
  verdict = judge(sample, merged(step, "[AXIS, -] -> [-, -] of [3, 4]"), plan);
  CHECK_THAT(verdict.refusal, Catch::Contains("a piece of [3, 4] under [-, -] is [3, 4], not [4, 4]"));
  std::string exchanged = merged(step, step);
  size_t place = exchanged.find("return %2, %3");
  REQUIRE(place != std::string::npos);
  exchanged.replace(place, 13, "return %3, %2");
  CHECK(judge(sample, exchanged, plan).fault == "result 'y' is not the value that the model returns there");
}

TEST_CASE("Faults in masks, addends and movements are found") {
  Sample sample(gemm);
  Plan plan = sample.plan("[2, 2]", unevenGemm);
  const char *noMask = "apc.mask_padding: does not mask the padding of a dim of its operand";
  const char *addedOnce = "apc.gemm 'gemm': operand 2 is added once to a sum over devices";
  checkCaught(
      sample, plan, FoundBy::Proof,
      {
          {"a mask left out", R"("apc.gemm"(%2, %3, %4))", R"("apc.gemm"(%arg0, %3, %4))",
           "apc.gemm 'gemm': operand 0 has padding in dim 1, over which the op reduces, and it is not masked for "
           "'sum'"},
          {"the other mask left out", R"("apc.gemm"(%2, %3, %4))", R"("apc.gemm"(%2, %0, %4))",
           "apc.gemm 'gemm': operand 1 has padding in dim 0"},
          {"a mask of the wrong dim", "mask_padding %arg0 dim 1 of 5", "mask_padding %arg0 dim 0 of 5", noMask},
          {"a mask of the wrong size", "mask_padding %arg0 dim 1 of 5", "mask_padding %arg0 dim 1 of 6", noMask},
          {"a mask along the wrong axis", "dim 1 of 5 <#mesh, (model2)>", "dim 1 of 5 <#mesh, (model)>", noMask},
          {"a mask with the wrong neutral element", "<sum>", "<max>",
           "apc.gemm 'gemm': operand 0 has padding in dim 1, over which the op reduces, and it is not masked for "
           "'sum'"},
          {"the addend added by all", R"("apc.gemm"(%2, %3, %4))", R"("apc.gemm"(%2, %3, %1))", addedOnce},
          {"the addend kept along the wrong axis", "keep_on_first %1 <#mesh, (model2)>",
           "keep_on_first %1 <#mesh, (model)>", addedOnce},
          {"reduce-scatter over the wrong group", "ReduceScatter{model2}, [-, -] sum{model2} -> [model2, -]",
           "ReduceScatter{model}, [-, -] sum{model} -> [model, -]",
           "apc.reduce_scatter: starts from [-, -] sum{model}, but the value is [-, -] sum{model2}"},
          {"a slice along the wrong axis", "Slice{model}, [model2, -] -> [model2, model]",
           "Slice{model2}, [model, -] -> [model, model2]",
           "apc.shard_slice: starts from [model, -], but the value is [model2, -]"},
          {"a movement left out", R"("apc.transpose"(%9))", R"("apc.transpose"(%8))",
           "apc.transpose 'turn': operand 0 is [model2, model], but strategy"},
          {"gathered over the wrong axis", "AllGather{model2}, [model, model2] -> [model, -]",
           "AllGather{model}, [model2, model] -> [model2, -]",
           "apc.all_gather: starts from [model2, model], but the value is [model, model2]"},
      });
  checkCaught(sample, plan, FoundBy::Mlir,
              {
                  {"reduce-scatter to the wrong dim", "-> [model2, -] of [6, 4]>", "-> [-, model2] of [6, 4]>",
                   "a piece of [6, 4] under [-, model2] is [6, 2], not [3, 4]"},
                  {"a slice of the wrong dim", "[model2, -] -> [model2, model]", "[model2, -] -> [model, model2]",
                   "Slice{model} does not take [model2, -] to [model, model2]"},
                  {"gathered along the wrong dim", "[model, model2] -> [model, -]", "[model, model2] -> [-, model2]",
                   "AllGather{model2} does not take [model, model2] to [-, model2]"},
                  {"a mask for no combiner", "<sum>", "<prod>", "expected sum, max, min, product, and, or"},
                  {"another order of dims", "array<i64: 1, 0>}> {apc.op", "array<i64: 0, 1>}> {apc.op",
                   "'apc.transpose' op result 0 has type 'tensor<2x3xf32>', but 'tensor<3x2xf32>' follows"},
              });
}

TEST_CASE("Faults in constants, attributes and offsets are found") {
  Sample sample(constants);
  Plan plan = sample.plan("[2 | 2]", {{"turn", "d0:x0 d1:x1"},
                                      {"part", "i0:x0 i1:x1"},
                                      {"join", "i0:x0"},
                                      {"scale", "b0:x0 b1:x1"},
                                      {"take", "v:x0"}});
  checkCaught(
      sample, plan, FoundBy::Proof,
      {
          {"another constant", "5.000000e+00", "7.000000e+00",
           "apc.mul 'scale': operand 1 is not a piece of the value that the model's op reads"},
          {"another part of a constant", "Slice{data}, [-] -> [data]", "Slice{model}, [-] -> [model]",
           "apc.mul 'scale': operand 1 is [model], but strategy 'b0:model b1:data' needs [data]"},
          {"a square not turned", "array<i64: 1, 0>}> {apc.op", "array<i64: 0, 1>}> {apc.op",
           "apc.transpose 'turn': attribute 'perm' is array<i64: 0, 1>, on this piece it must be array<i64: 1, 0>"},
          {"rows counted from the wrong place", "shard_offset <#mesh, (model)> of 6",
           "shard_offset <#mesh, (data)> of 6",
           "apc.gather 'take': operand 2 says another size or place than this piece has"},
          {"a table of another size", "axis = 0 : i64, size = 6", "axis = 0 : i64, size = 3",
           "apc.gather 'take': attribute 'size' is 3 : i64, on this piece it must be 6 : i64"},
          {"pieces in the wrong places", R"("apc.reshape"(%6, %0))", R"("apc.reshape"(%5, %0))",
           "apc.reshape 'part': operand 0 is"},
          {"rows of the whole table",
           R"("apc.gather"(%16, %arg1, %17) <{axis = 0 : i64, size = 6 : i64}> {apc.op = "take", )"
           R"(apc.strategy = #apc.strategy<#mesh, v:model>} : (tensor<3x6xf32>, tensor<4xi64>, tensor<i64>))",
           R"("apc.gather"(%16, %arg1) <{axis = 0 : i64}> {apc.op = "take", )"
           R"(apc.strategy = #apc.strategy<#mesh, v:model>} : (tensor<3x6xf32>, tensor<4xi64>))",
           "apc.gather 'take': must be apc.gather of 3 operands on this piece"},
      });
  checkCaught(sample, plan, FoundBy::Mlir,
              {
                  {"a size of the whole tensor", "dense<[3, 6]>", "dense<[6, 6]>",
                   "'apc.reshape' op shape [6, 6] does not hold the elements of data [3, 2, 3]"},
                  {"sizes of another piece", "dense<[3, 1, 3]>", "dense<[1, 3, 3]>",
                   "'apc.reshape' op result 0 has type 'tensor<3x1x3xf32>', but 'tensor<1x3x3xf32>' follows"},
                  {"rows of another axis", "axis = 0 : i64, size = 6", "axis = 1 : i64, size = 6",
                   "'apc.gather' op result 0 has type 'tensor<4x6xf32>', but 'tensor<3x4xf32>' follows"},
              });
}

TEST_CASE("A program that needs more memory than its plan says is refused") {
  Sample sample(mlp);
  Plan plan = sample.plan("[2 | 2]", megatron);
  std::string text = programText(sample, plan);
  plan.memory[MemoryCategory::Parameters] -= 1;
  CHECK_THAT(judge(sample, text, plan).fault, Catch::Contains("bytes of parameters"));
}

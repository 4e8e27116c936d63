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
          {"all-reduce over the wrong group", "AllReduce{device}, [node, -] sum{device} -> [node, -]",
           "AllReduce{node}, [device, -] sum{node} -> [device, -]",
           "apc.all_reduce: starts from [device, -] sum{node}, but the value is [node, -] sum{device}"},
          {"partial taken as whole", "return %5", "return %4",
           "result 'y' is [node, -] sum{device}, said to be [node, -]; a result must not be partial"},
          {"a maximum instead of a sum", "sum{device}", "max{device}",
           "starts from [node, -] max{device}, but the value is [node, -] sum{device}"},
          {"another whole tensor", "of [6, 7]>", "of [5, 7]>", "the whole tensor is [6, 7], not [5, 7]"},
          {"the wrong operand", R"("apc.matmul"(%3, %1))", R"("apc.matmul"(%2, %1))",
           "apc.matmul 'down': no op of the model reads these values"},
          {"a wrong strategy", "m:node k:device", "m:node",
           "apc.matmul 'down': operand 0 is [node, device], but strategy 'm:node' needs [node, -]"},
          {"a strategy of factors that the op does not have", "m:node k:device", "m:node h:device",
           "apc.matmul 'down': strategy 'm:node h:device': 'h' is no factor of"},
          {"factors exchanged", "m:node n:device", "m:device n:node",
           "apc.matmul 'up': operand 0 is [node, -], but strategy 'm:device n:node' needs [device, -]"},
          {"another op", R"("apc.relu"(%2))", R"("apc.exp"(%2))",
           "apc.exp 'act': no op of the model reads these values"},
          {"another parameter", R"(apc.parameter "w1")", R"(apc.parameter "w3")", "the model has no parameter 'w3'"},
          {"a parameter cut along the wrong axis", "[-, device]>} : tensor<5x4xf32>", "[-, node]>} : tensor<5x4xf32>",
           "apc.matmul 'up': operand 1 is [-, node], but strategy 'm:node n:device' needs [-, device]"},
          {"a parameter cut along the wrong dim", "[-, device]>} : tensor<5x4xf32>", "[device, -]>} : tensor<5x4xf32>",
           "parameter 'w1' is [5, 4]; a piece of [5, 8] under [device, -] is [3, 8]"},
          {"a parameter of other dims", "[-, device]>} : tensor<5x4xf32>", "[-]>} : tensor<5x4xf32>",
           "parameter 'w1': a sharding of 1 dims does not fit a tensor of 2 dims"},
          {"a parameter on another mesh", "#apc.sharding<#mesh, [-, device]>} : tensor<5x4xf32>",
           "#apc.sharding<#apc.mesh<[device=2]>, [-, device]>} : tensor<5x4xf32>",
           "parameter 'w1' has no attribute 'apc.sharding' for the mesh [node=2 | device=2]"},
          {"an argument of another sharding", "[node, -]>}) ->", "[device, -]>}) ->",
           "apc.matmul 'up': operand 0 is [device, -], but strategy 'm:node n:device' needs [node, -]"},
          {"a result of another sharding", "array<i64: 6, 7>, apc.sharding = #apc.sharding<#mesh, [node, -]",
           "array<i64: 6, 7>, apc.sharding = #apc.sharding<#mesh, [device, -]",
           "result 'y' is [node, -], said to be [device, -]"},
          {"an argument of another name", R"(apc.name = "x")", R"(apc.name = "y")",
           "argument 0 of the program is no input of the model"},
          {"another mesh", "[node=2 | device=2]", "[node=2 | device=4]",
           "the program is for the mesh [node=2 | device=4], the plan for [node=2 | device=2]"},
      });
  checkCaught(sample, plan, FoundBy::Mlir,
              {
                  {"a step that the group does not take", "AllReduce{device}", "AllReduce{node}",
                   "AllReduce{node} does not take [node, -] sum{device} to [node, -]"},
                  {"all-reduce over too large a group", "AllReduce{device}", "AllReduce{node device}",
                   "AllReduce{node device} does not take [node, -] sum{device} to [node, -]"},
                  {"partial said to be whole", "[node, -] sum{device} ->", "[node, -] ->",
                   "AllReduce{device} does not take [node, -] to [node, -]"},
              });
}

TEST_CASE("A result that replaces a parameter rests as the parameter does") {
  Sample sample(R"(
func.func @main() -> (tensor<4x4xf32> {apc.name = "w.updated", apc.replaces = "w"}) {
  %w = apc.parameter "w" "initializer" : tensor<4x4xf32>
  %y = "apc.relu"(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("update")
  return %y : tensor<4x4xf32>
})");
  std::map<std::string, std::string> cut = {{"w", "d0:x0"}, {"update", "b0:x0"}, {"output w.updated", "d0:x0"}};
  Plan same = sample.plan("[2]", cut);
  CHECK(judge(sample, programText(sample, same), same).fault == "");
  cut.erase("output w.updated");
  Plan gathered = sample.plan("[2]", cut);
  CHECK(judge(sample, programText(sample, gathered), gathered).fault ==
        "result 'w.updated' is [-, -], but replaces parameter 'w', which rests as [node, -]");
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
  StagePlan &stage = plan.stages.front();
  stage.buckets = {{{0, 1}, stage.moves.front().collectives}};
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
          {"a mask along the wrong axis", "dim 1 of 5 <#mesh, (node.b)>", "dim 1 of 5 <#mesh, (node.a)>", noMask},
          {"a mask with the wrong neutral element", "<sum>", "<max>",
           "apc.gemm 'gemm': operand 0 has padding in dim 1, over which the op reduces, and it is not masked for "
           "'sum'"},
          {"the addend added by all", R"("apc.gemm"(%2, %3, %4))", R"("apc.gemm"(%2, %3, %1))", addedOnce},
          {"the addend kept along the wrong axis", "keep_on_first %1 <#mesh, (node.b)>",
           "keep_on_first %1 <#mesh, (node.a)>", addedOnce},
          {"reduce-scatter over the wrong group", "ReduceScatter{node.b}, [-, -] sum{node.b} -> [node.b, -]",
           "ReduceScatter{node.a}, [-, -] sum{node.a} -> [node.a, -]",
           "apc.reduce_scatter: starts from [-, -] sum{node.a}, but the value is [-, -] sum{node.b}"},
          {"a slice along the wrong axis", "Slice{node.a}, [node.b, -] -> [node.b, node.a]",
           "Slice{node.b}, [node.a, -] -> [node.a, node.b]",
           "apc.shard_slice: starts from [node.a, -], but the value is [node.b, -]"},
          {"a movement left out", R"("apc.transpose"(%9))", R"("apc.transpose"(%8))",
           "apc.transpose 'turn': operand 0 is [node.b, node.a], but strategy"},
          {"gathered over the wrong axis", "AllGather{node.b}, [node.a, node.b] -> [node.a, -]",
           "AllGather{node.a}, [node.b, node.a] -> [node.b, -]",
           "apc.all_gather: starts from [node.b, node.a], but the value is [node.a, node.b]"},
      });
  checkCaught(sample, plan, FoundBy::Mlir,
              {
                  {"reduce-scatter to the wrong dim", "-> [node.b, -] of [6, 4]>", "-> [-, node.b] of [6, 4]>",
                   "a piece of [6, 4] under [-, node.b] is [6, 2], not [3, 4]"},
                  {"a slice of the wrong dim", "[node.b, -] -> [node.b, node.a]", "[node.b, -] -> [node.a, node.b]",
                   "Slice{node.a} does not take [node.b, -] to [node.a, node.b]"},
                  {"gathered along the wrong dim", "[node.a, node.b] -> [node.a, -]", "[node.a, node.b] -> [-, node.b]",
                   "AllGather{node.b} does not take [node.a, node.b] to [-, node.b]"},
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
          {"another part of a constant", "Slice{device}, [-] -> [device]", "Slice{node}, [-] -> [node]",
           "apc.mul 'scale': operand 1 is [node], but strategy 'b0:node b1:device' needs [device]"},
          {"a square not turned", "array<i64: 1, 0>}> {apc.op", "array<i64: 0, 1>}> {apc.op",
           "apc.transpose 'turn': attribute 'perm' is array<i64: 0, 1>, on this piece it must be array<i64: 1, 0>"},
          {"rows counted from the wrong place", "shard_offset <#mesh, (node)> of 6",
           "shard_offset <#mesh, (device)> of 6",
           "apc.gather 'take': operand 2 says another size or place than this piece has"},
          {"a table of another size", "axis = 0 : i64, size = 6", "axis = 0 : i64, size = 3",
           "apc.gather 'take': attribute 'size' is 3 : i64, on this piece it must be 6 : i64"},
          {"pieces in the wrong places", R"("apc.reshape"(%6, %0))", R"("apc.reshape"(%5, %0))",
           "apc.reshape 'part': operand 0 is"},
          {"rows of the whole table",
           R"("apc.gather"(%16, %arg1, %17) <{axis = 0 : i64, size = 6 : i64}> {apc.op = "take", )"
           R"(apc.strategy = #apc.strategy<#mesh, v:node>} : (tensor<3x6xf32>, tensor<4xi64>, tensor<i64>))",
           R"("apc.gather"(%16, %arg1) <{axis = 0 : i64}> {apc.op = "take", )"
           R"(apc.strategy = #apc.strategy<#mesh, v:node>} : (tensor<3x6xf32>, tensor<4xi64>))",
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

TEST_CASE("A program has the collectives of its plan, which are costed") {
  Sample sample(mlp);
  Plan plan = sample.plan("[2 | 2]", megatron);
  std::string text = programText(sample, plan);
  std::vector<PlanMove> &moves = plan.stages.front().moves;
  REQUIRE(!moves.empty());
  moves.push_back(moves.front());
  CHECK_THAT(judge(sample, text, plan).fault, Catch::Contains("collectives; the moves of the plan have"));
}

TEST_CASE("Ops on the wrong side of the end of a micro-batch are found") {
  Sample sample(R"(
func.func @main(%x: tensor<6x4xf32> {apc.name = "x"}) -> (tensor<6x4xf32> {apc.name = "y"}) {
  %0 = "apc.relu"(%x) : (tensor<6x4xf32>) -> tensor<6x4xf32> loc("act")
  %1 = "apc.accumulate"(%0) : (tensor<6x4xf32>) -> tensor<6x4xf32> loc("sum")
  apc.micro_batch_end 2
  %2 = "apc.relu"(%1) : (tensor<6x4xf32>) -> tensor<6x4xf32> loc("once")
  return %2 : tensor<6x4xf32>
})");
  Plan plan = sample.plan("[2]", {{"x", "d0:x0"}, {"act", "b0:x0"}, {"sum", "b0:x0"}});
  const char *end = "    apc.micro_batch_end 2\n";
  checkCaught(
      sample, plan, FoundBy::Proof,
      {{"another number of micro-batches", "apc.micro_batch_end 2", "apc.micro_batch_end 3",
        "the program has 3 micro-batches, the model 2"},
       {"no micro-batches", end, "", "apc.relu 'once': runs with every micro-batch, unlike the op of the model"}});
}

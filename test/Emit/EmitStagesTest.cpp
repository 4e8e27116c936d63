// A program of two stages, by hand, in files.
#include "EmissionSamples.h"

#include "apc/Emit/Emit.h"
#include "apc/IR/Apc.h"
#include "apc/Support/File.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace apc;
using namespace apc::test;
using Catch::Contains;

namespace {

/// x . a on two ranks, which cut the columns; the product goes on.
const char *const first = R"(
#mesh = #apc.mesh<[device=2]>
module attributes {apc.mesh = #mesh} {
func.func @main(%x: tensor<2x3xf32> {apc.name = "x", apc.sharding = #apc.sharding<#mesh, [-, -]>, apc.shape = array<i64: 2, 3>}) {
  %a = apc.parameter "a" "external" {apc.sharding = #apc.sharding<#mesh, [-, device]>, apc.shape = array<i64: 3, 4>} : tensor<3x2xf32>
  %h = "apc.matmul"(%x, %a) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  apc.send %h "h" "micro_batch" {apc.sharding = #apc.sharding<#mesh, [-, device]>, apc.shape = array<i64: 2, 4>} : tensor<2x2xf32>
  apc.part_end "forward"
  apc.micro_batch_end 2
  return
}
})";

/// h . b, summed over micro-batches, on one rank.
const char *const second = R"(
#mesh = #apc.mesh<[]>
module attributes {apc.mesh = #mesh} {
func.func @main() -> (tensor<2x1xf32> {apc.name = "y", apc.sharding = #apc.sharding<#mesh, [-, -]>, apc.shape = array<i64: 2, 1>}) {
  %b = apc.parameter "b" "external" {apc.sharding = #apc.sharding<#mesh, [-, -]>, apc.shape = array<i64: 4, 1>} : tensor<4x1xf32>
  %h = apc.receive "h" "micro_batch" "input" {apc.sharding = #apc.sharding<#mesh, [-, -]>, apc.shape = array<i64: 2, 4>} : tensor<2x4xf32>
  %y = "apc.matmul"(%h, %b) : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
  %s = "apc.accumulate"(%y) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  apc.part_end "forward"
  apc.micro_batch_end 2
  return %s : tensor<2x1xf32>
}
})";

struct TwoStages {
  TwoStages() {
    context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
    program.stages.push_back({mlir::parseSourceString<mlir::ModuleOp>(first, &context), 0, 2});
    program.stages.push_back({mlir::parseSourceString<mlir::ModuleOp>(second, &context), 2, 1});
    REQUIRE(program.stages[0].module);
    REQUIRE(program.stages[1].module);
    program.workers = {{{ProgramPart::Forward, 0, 0}, {ProgramPart::Forward, 0, 1}, {ProgramPart::Backward, 0, 0}},
                       {{ProgramPart::Forward, 1, 0}, {ProgramPart::Forward, 1, 1}}};
    program.inputs = {"x"};
    program.results = {"y"};
    plan.stages.resize(2);
    plan.stages[0].mesh.axes = {{"device", 2, "device", 0}};
    std::string weights;
    for (int number = 0; number < 16; ++number)
      weights += std::string(3, '\0') + static_cast<char>('a' + number);
    require(writeFileAtomically(work / "weights.bin", weights));
    options.weights = true;
    options.ranks = {1, 2};
    options.data["a"] = {"weights.bin", work / "weights.bin", 0, 48, ""};
    options.data["b"] = {"weights.bin", work / "weights.bin", 48, 16, ""};
  }

  WorkFolder work;
  mlir::MLIRContext context;
  Program program;
  Plan plan;
  EmitOptions options;
};

} // namespace

TEST_CASE("Each stage has a folder, and the manifest says who holds it and what the workers do") {
  TwoStages two;
  Emission emission = valueOf(emit(two.program, two.plan, "mlir", two.work / "out", two.options));
  auto weights = [](int number) {
    return "weights/shard-0000" + std::to_string(number) + "-model-00001-of-00001.safetensors";
  };
  std::vector<std::string> names;
  for (const EmittedFile &file : emission.files)
    names.push_back(file.name);
  CHECK(names == std::vector<std::string>{"manifest.json", "stage-0000/program.mlir", "stage-0000/rank-0001.mlir",
                                          "stage-0000/manifest.json", "stage-0000/" + weights(1),
                                          "stage-0000/" + weights(2), "stage-0001/program.mlir",
                                          "stage-0001/rank-0000.mlir", "stage-0001/manifest.json",
                                          "stage-0001/" + weights(1)});
  CHECK(emission.numParameters == 2);
  CHECK(emission.parameterBytesPerRank == 24);
  ReadManifest whole(two.work / "out");
  CHECK(whole.json["devices"] == 3);
  CHECK(whole.json["micro_batches"] == 2);
  CHECK(whole.json["inputs"].dump() == R"([{"each":"micro-batch","name":"x","stages":[0]}])");
  CHECK(whole.json["outputs"].dump() == R"([{"name":"y","stage":1}])");
  CHECK(whole.json["transfers"].dump() == R"([{"each":"micro-batch","from":0,"name":"h","to":[1]}])");
  CHECK(whole.json["stages"].dump() == R"([{"devices":2,"first_rank":0,"folder":"stage-0000"},)"
                                       R"({"devices":1,"first_rank":2,"folder":"stage-0001"}])");
  CHECK(whole.json["workers"].dump() ==
        R"([{"actions":["F 0 0","F 0 1","B 0 0"],"devices":2,"first_rank":0,"stages":[0]},)"
        R"({"actions":["F 1 0","F 1 1"],"devices":1,"first_rank":2,"stages":[1]}])");
  ReadManifest one(two.work / "out/stage-0000"), other(two.work / "out/stage-0001");
  CHECK(one.json["sends"][0]["name"] == "h");
  CHECK(one.json["sends"][0]["each"] == "micro-batch");
  CHECK(one.json["sends"][0]["sharding"] == "[-, device]");
  CHECK(other.json["receives"][0]["local_shape"] == Json({2, 4}));
  CHECK_FALSE(other.json.contains("sends"));
  // Columns 2 and 3 of a: c d, g h, k l.
  ReadTensors second(two.work / ("out/stage-0000/" + weights(2)));
  CHECK(second.beginOf("a") == std::vector<size_t>{0, 2});
  std::string letters;
  for (char byte : second.bytesOf("a"))
    if (byte)
      letters += byte;
  CHECK(letters == "cdghkl");
  CHECK_THAT(contentOf(two.work / "out/stage-0001/program.mlir"), Contains("apc.receive \"h\" \"micro_batch\""));
  // A second emission takes the place of the first.
  two.options.ranks = {};
  emission = valueOf(emit(two.program, two.plan, "mlir", two.work / "out", two.options));
  CHECK(emission.files.size() == 8);
}

TEST_CASE("Files of others in the folders of stages are not lost") {
  TwoStages two;
  valueOf(emit(two.program, two.plan, "mlir", two.work / "out", two.options));
  for (const char *name : {"stage-0000/notes.txt", "stage-0001/weights/mine", "stage-0001/plan.json",
                           "stage-0001/weights/shard-00002-model-00001-of-00001.safetensors"}) {
    require(writeFileAtomically(two.work / "out/" + name, "mine"));
    CHECK_THAT(inputErrorOf(emit(two.program, two.plan, "mlir", two.work / "out", two.options)),
               Contains(std::string("holds '") + name + "', which would be lost"));
    CHECK(contentOf(two.work / "out/" + name) == "mine");
    REQUIRE_FALSE(llvm::sys::fs::remove(two.work / "out/" + name));
  }
  valueOf(emit(two.program, two.plan, "mlir", two.work / "out", two.options));
}

TEST_CASE("In the shard dialect, the ends of transfers and of parts are calls") {
  TwoStages two;
  two.options.ranks = {};
  valueOf(emit(two.program, two.plan, "shard-mlir", two.work / "out", two.options));
  std::string sender = contentOf(two.work / "out/stage-0000/program.mlir");
  CHECK_THAT(sender, Contains("{apc.attributes = {apc.shape = array<i64: 2, 4>, apc.sharding = \"[-, device]\", time = "
                              "\"micro_batch\", value = \"h\"}, apc.operator = \"apc.send\"}"));
  CHECK_THAT(sender, Contains("{apc.attributes = {part = \"forward\"}, apc.operator = \"apc.part_end\"}"));
  CHECK_THAT(contentOf(two.work / "out/stage-0001/program.mlir"), Contains("apc.operator = \"apc.receive\""));
}

TEST_CASE("Ranks that no stage has, and ranks of a format that has no programs of single ones, are refused") {
  TwoStages two;
  CHECK(inputErrorOf(emit(two.program, two.plan, "shard-mlir", two.work / "out", two.options)) ==
        "format 'shard-mlir' has no programs of single ranks; accepted with them are 'mlir' and 'tensorrt'");
  two.options.ranks = {3};
  CHECK(inputErrorOf(emit(two.program, two.plan, "mlir", two.work / "out", two.options)) ==
        "rank 3 is not in the program; ranks are 0 to 2");
}

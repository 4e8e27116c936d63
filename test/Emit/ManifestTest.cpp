// The ranges of all ranks together are the parameters; the shards that are written are the ranges.
#include "EmissionSamples.h"

#include "apc/Checkpoint/ByteRanges.h"
#include "apc/Emit/Emit.h"
#include "apc/IR/Apc.h"
#include "apc/Support/File.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <set>

using namespace apc;
using namespace apc::test;

namespace {

ByteLayout layout(std::initializer_list<int64_t> dims, unsigned bits, llvm::StringRef sharding, llvm::StringRef mesh) {
  Mesh on = valueOf(Mesh::parse(mesh));
  TensorShape shape;
  shape.dims.assign(dims.begin(), dims.end());
  shape.elementBits = bits;
  return layoutOf(shape, valueOf(Sharding::parse(sharding, on)), on);
}

using Repeats = llvm::SmallVector<ByteRange::Repeat, 2>;

bool is(const ByteRange &range, int64_t offset, int64_t length, Repeats repeats = {}) {
  return range == ByteRange{offset, length, std::move(repeats)};
}

/// All bytes of the parameter are in exactly one distinct shard, by the ranges of the manifest.
void checkCovered(const ReadManifest &manifest, const Json &parameter, const std::string &data) {
  auto length = parameter["length"].get<size_t>();
  // The content of a byte tells its place: the ranges are read from these three files instead.
  std::vector<std::string> places(3, std::string(data.size(), '\0'));
  for (size_t at = 0; at < length; ++at)
    for (size_t digit = 0; digit < 3; ++digit)
      places[digit][parameter["offset"].get<size_t>() + at] = static_cast<char>(at >> (8 * digit));
  std::map<size_t, int64_t> rankOfShard;
  const Json &shardOfRank = manifest.json["layouts"][parameter["layout"].get<size_t>()]["shard_of_rank"];
  for (size_t rank = 0; rank < shardOfRank.size(); ++rank)
    rankOfShard.try_emplace(shardOfRank[rank].get<size_t>(), static_cast<int64_t>(rank));
  std::vector<unsigned> times(length, 0);
  for (auto [shard, rank] : rankOfShard) {
    std::string digits[3];
    for (size_t digit = 0; digit < 3; ++digit)
      digits[digit] = manifest.readRanges(parameter, rank, places[digit]);
    for (size_t at = 0; at < digits[0].size(); ++at) {
      size_t place = 0;
      for (size_t digit = 3; digit-- > 0;)
        place = place << 8 | static_cast<unsigned char>(digits[digit][at]);
      ++times.at(place);
    }
  }
  CHECK(llvm::all_of(times, [](unsigned count) { return count == 1; }));
}

/// Returns how many parameters are cut inside parts.
size_t checkModel(const std::string &name, int64_t devices, const std::vector<Pin> &pins = {}) {
  INFO(name << " on " << devices);
  WorkFolder work;
  std::string model = std::string(APC_MODELS) + "/tiny/" + name + "/model.onnx";
  EmitPlanOptions options;
  options.planPath = planFile(model, devices, work / "plan", "cpu-local", pins);
  options.folder = work / "out";
  options.weights = true;
  Emission emission = valueOf(emitPlan(options));
  CHECK(emission.absent.empty());
  ReadManifest manifest(options.folder);
  std::string data = contentOf(model);
  CHECK(manifest.json["parameters"].size() == emission.numParameters);
  auto numRanks = manifest.json["devices"].get<int64_t>();
  size_t numParted = 0;
  for (const Json &parameter : manifest.json["parameters"]) {
    INFO(parameter["name"]);
    numParted += manifest.json["layouts"][parameter["layout"].get<size_t>()].contains("shards_by_part");
    checkCovered(manifest, parameter, data);
    for (int64_t rank = 0; rank < numRanks; ++rank)
      CHECK(manifest.holds(parameter, rank, data));
  }
  return numParted;
}

} // namespace

TEST_CASE("whole dims join the run within; cut ones repeat it") {
  ByteLayout rows = layout({6, 5}, 16, "[x0, -]", "[2]");
  CHECK(is(rows.shards[1].range, 30, 30));
  ByteLayout columns = layout({4, 6}, 32, "[-, x0]", "[2]");
  CHECK(is(columns.shards[1].range, 12, 12, {{24, 4}}));
  ByteLayout both = layout({4, 6}, 32, "[x1, x0]", "[2, 2]");
  CHECK(is(both.shards[1].range, 12, 12, {{24, 2}}));
  CHECK(both.shardOfRank == std::vector<unsigned>{0, 2, 1, 3});
  ByteLayout outer = layout({2, 3, 4, 6}, 8, "[-, -, -, x0]", "[2]");
  CHECK(is(outer.shards[0].range, 0, 3, {{6, 24}}));
  ByteLayout two = layout({2, 4, 6}, 8, "[-, x0, x1]", "[2, 2]");
  CHECK(is(two.shards[3].range, 15, 3, {{24, 2}, {6, 2}}));
  ByteLayout scalar = layout({}, 32, "[]", "[2]");
  CHECK(is(scalar.shards[0].range, 0, 4));
  CHECK(scalar.shardOfRank == std::vector<unsigned>{0, 0});
}

TEST_CASE("pieces of parts are one range for each part") {
  ByteLayout columns = layout({4, 8}, 8, "[-, x0{4 2 2}]", "[2]");
  CHECK(is(columns.shards[1].range, 2, 2, {{8, 4}}));
  REQUIRE(columns.shards[1].furtherRanges.size() == 2);
  CHECK(is(columns.shards[1].furtherRanges[0], 5, 1, {{8, 4}}));
  CHECK(is(columns.shards[1].furtherRanges[1], 7, 1, {{8, 4}}));
  CHECK(columns.localShape.dims == llvm::SmallVector<int64_t, 4>{4, 4});
  // 3 and 5 over 2: the second device has 1 and 2 elements, in room for 2 and 3.
  ByteLayout uneven = layout({8}, 8, "[x0{3 5}]", "[2]");
  CHECK((is(uneven.shards[1].range, 2, 1) && is(uneven.shards[1].furtherRanges[0], 6, 2)));
  CHECK((uneven.shards[1].count[0] == 3 && uneven.localShape.dims[0] == 5));
}

TEST_CASE("uneven pieces end with the tensor, and some are nothing but padding") {
  ByteLayout uneven = layout({5, 2}, 8, "[(x0 x1), -]", "[2, 2]");
  // 5 over 2 is 3 and 2; 3 over 2 is 2 and 1.
  CHECK(is(uneven.shards[0].range, 0, 4));
  CHECK(is(uneven.shards[1].range, 4, 2));
  CHECK(is(uneven.shards[2].range, 6, 4));
  CHECK(uneven.shards[3].range.length == 0);
  CHECK(uneven.shards[3].count[0] == 0);
}

TEST_CASE("elements smaller than bytes count in bits where a cut goes through a byte") {
  CHECK(layout({4, 6}, 4, "[x0, -]", "[2]").unitBits == 8);
  ByteLayout odd = layout({2, 5}, 4, "[x0, -]", "[2]");
  CHECK(odd.unitBits == 1);
  CHECK(is(odd.shards[1].range, 20, 20));
  // 15 elements of 4 bits are 8 bytes; the last piece ends with the tensor.
  ByteLayout end = layout({5, 3}, 4, "[x0, -]", "[2]");
  CHECK(end.unitBits == 1);
  CHECK(layout({3, 2}, 4, "[x0, -]", "[3]").unitBits == 8);
}

TEST_CASE("tiny models: ranges cover each parameter once, and the shards written are the ranges") {
  checkModel("gpt", 8);
  checkModel("llama", 6);
  checkModel("resnet", 4);
  checkModel("dlrm", 3);
  CHECK(checkModel("gpt", 2, {valueOf(parsePin("c_attn/Gemm$: n=2, ...", "test"))}) > 0);
}

TEST_CASE("shards cut along any dims hold the bytes of their ranges, with padding at the ends") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto program = mlir::parseSourceString<mlir::ModuleOp>(R"(
#mesh = #apc.mesh<[x0=2, x1=3]>
module attributes {apc.mesh = #mesh} {
  func.func @main() -> tensor<2x3xf32> {
    %a = apc.parameter "a" "initializer" {apc.shape = array<i64: 4, 7>, apc.sharding = #apc.sharding<#mesh, [x0, x1]>} : tensor<2x3xf32>
    %b = apc.parameter "b" "initializer" {apc.shape = array<i64: 5, 6>, apc.sharding = #apc.sharding<#mesh, [-, x0]>} : tensor<5x3xf16>
    %c = apc.parameter "c" "initializer" {apc.shape = array<i64: 3, 4, 5, 2>, apc.sharding = #apc.sharding<#mesh, [-, x0, x1, -]>} : tensor<3x2x2x2xi8>
    %d = apc.parameter "d" "initializer" {apc.shape = array<i64: 2, 3, 4>, apc.sharding = #apc.sharding<#mesh, [-, -, (x1 x0)]>} : tensor<2x3x1xf32>
    return %a : tensor<2x3xf32>
  }
})",
                                                         &context);
  REQUIRE(program);
  WorkFolder work;
  std::string data;
  for (unsigned at = 0; at < 400; ++at)
    data += static_cast<char>(at * 7);
  require(writeFileAtomically(work / "w", data));
  EmitOptions options;
  options.weights = true;
  auto place = [&](llvm::StringRef name, int64_t offset, int64_t length) {
    options.data[name] = {"w", work / "w", offset, length, "", false};
  };
  place("a", 0, 112);
  place("b", 112, 60);
  place("c", 172, 120);
  place("d", 292, 96);
  Plan plan;
  plan.stages.emplace_back();
  Emission emission = valueOf(emit(Program::ofOneStage(std::move(program), 6), plan, "mlir", work / "out", options));
  ReadManifest manifest(emission.folder);
  for (const Json &parameter : manifest.json["parameters"])
    for (int64_t rank = 0; rank < 6; ++rank) {
      INFO(parameter["name"] << " on rank " << rank);
      CHECK(manifest.holds(parameter, rank, data));
    }
}

TEST_CASE("a loader finds the piece of each input and output, and how states begin") {
  WorkFolder work;
  EmitPlanOptions options;
  options.planPath = planFile(std::string(APC_MODELS) + "/tiny/gpt/model.onnx", 4, work / "plan", "cpu-local",
                              {valueOf(parsePin("h.0/ln_1.*: d0=2, ...", "test"))});
  options.folder = work / "out";
  (void)valueOf(emitPlan(options));
  ReadManifest manifest(options.folder);
  const Json &inputs = manifest.json["inputs"], &outputs = manifest.json["outputs"];
  REQUIRE(inputs.size() == 1);
  REQUIRE(outputs.size() == 1);
  CHECK(inputs[0]["batch_dim"] == 0);
  CHECK(outputs[0]["name"] == "logits");
  CHECK(outputs[0]["shape"] == Json({6, 5, 101}));
  // Each byte of the input tells its place: all places are read by some rank.
  Json tokens = inputs[0];
  tokens["offset"] = 0;
  std::string places;
  for (int at = 0; at < 6 * 5 * 8; ++at)
    places += static_cast<char>(at);
  std::set<char> read;
  for (int64_t rank = 0; rank < 4; ++rank)
    for (char place : manifest.readRanges(tokens, rank, places))
      read.insert(place);
  CHECK(read.size() == places.size());
}

// Programs of single ranks: groups and peers of collectives, of one value and of several.
#include "EmissionSamples.h"

#include "apc/Emit/Emit.h"
#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace apc;
using namespace apc::test;

namespace {

/// The program of `rank` for `main` with this body on a 2 x 2 mesh.
std::string programOf(int64_t rank, const std::string &body) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>("#mesh = #apc.mesh<[a=2, b=2]>\nmodule attributes {apc.mesh = #mesh} {\n"
                                              "func.func @main(%x: tensor<2x4xf32>, %y: tensor<4x1xf32>) {\n" +
                                                  body + "\nreturn\n}\n}",
                                              &context);
  REQUIRE(module);
  WorkFolder work;
  EmitOptions options;
  options.ranks = {rank};
  Plan plan;
  plan.stages.emplace_back();
  Emission emission = valueOf(emit(Program::ofOneStage(std::move(module), 4), plan, "mlir", work / "out", options));
  std::string text = contentOf(emission.folder + "/rank-000" + std::to_string(rank) + ".mlir");
  CHECK(mlir::parseSourceString<mlir::ModuleOp>(text, &context));
  return text;
}

} // namespace

TEST_CASE("a permute of one value names its peers as numbers") {
  std::string text = programOf(1, R"(%0 = apc.permute %x <#mesh, Permute{a b}, [a, -] -> [b, -] of [4, 4]>
      : (tensor<2x4xf32>) -> tensor<2x4xf32>)");
  CHECK_THAT(text, Catch::Contains("apc.ranks = array<i64: 0, 1, 2, 3>") && Catch::Contains("apc.receive_from = 2") &&
                       Catch::Contains("apc.send_to = 2"));
}

TEST_CASE("a permute of two values names the peers of each") {
  std::string text = programOf(1, R"(
    %0, %1 = apc.permute %x, %y <#mesh, Permute{a b}, [a, -] -> [b, -] of [4, 4], [-, (a b)] -> [-, (b a)] of [4, 4]>
      : (tensor<2x4xf32>, tensor<4x1xf32>) -> (tensor<2x4xf32>, tensor<4x1xf32>))");
  CHECK_THAT(text, Catch::Contains("apc.receive_from = array<i64: 2, 2>") &&
                       Catch::Contains("apc.send_to = array<i64: 2, 2>"));
}

TEST_CASE("slices of two values become slices of each") {
  std::string text = programOf(3, R"(
    %0, %1 = apc.shard_slice %x, %y <#mesh, Slice{b}, [a, -] -> [a, b] of [4, 4], [-, a] -> [b, a] of [4, 2]>
      : (tensor<2x4xf32>, tensor<4x1xf32>) -> (tensor<2x2xf32>, tensor<2x1xf32>)
    %2, %3 = apc.all_gather %0, %1 <#mesh, AllGather{b}, [a, b] -> [a, -] of [4, 4], [b, a] -> [-, a] of [4, 2]>
      : (tensor<2x2xf32>, tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<4x1xf32>))");
  CHECK_THAT(text, !Catch::Contains("apc.shard_slice") && Catch::Contains("apc.ranks = array<i64: 2, 3>"));
  size_t numSlices = llvm::StringRef(text).count("\"apc.slice\"");
  CHECK(numSlices == 2);
}

TEST_CASE("a slice inside parts becomes one slice of each part, joined") {
  std::string text = programOf(3, R"(
    %0 = apc.all_gather %x <#mesh, AllGather{a}, [a, -] -> [-, -] of [4, 4]> : (tensor<2x4xf32>) -> tensor<4x4xf32>
    %1 = apc.shard_slice %0 <#mesh, Slice{b}, [-, -] -> [-, b{2 2}] of [4, 4]> : (tensor<4x4xf32>) -> tensor<4x2xf32>)");
  CHECK_THAT(text, Catch::Contains("\"apc.concat\"") && Catch::Contains("dense<1> : tensor<1xi64>") &&
                       Catch::Contains("dense<3> : tensor<1xi64>"));
  size_t numSlices = llvm::StringRef(text).count("\"apc.slice\"");
  CHECK(numSlices == 2);
}

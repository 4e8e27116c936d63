// Narrower models: dims that are divided and dims that stay.
#include "apc/Transforms/ScaleHidden.h"
#include "apc/IR/Apc.h"
#include "apc/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The module after division, as text; the error's message where there is one.
std::string scaledText(const std::string &text, int64_t divisor) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  llvm::Expected<unsigned> sets = scaleHidden(*module, divisor);
  if (!sets)
    return takeMessage(sets.takeError()).second;
  CHECK(*sets > 0);
  CHECK(mlir::succeeded(mlir::verify(*module)));
  std::string printed;
  llvm::raw_string_ostream(printed) << *module;
  return printed;
}

} // namespace

TEST_CASE("Heads and hidden sizes become a quarter; head size, batch and sequence stay") {
  std::string text = scaledText(R"(
func.func @main(%x: tensor<2x3x64xf32>) -> tensor<2x3x64xf32> {
  %w = apc.parameter "w" "initializer" : tensor<64x64xf32>
  %b = apc.parameter "b" "initializer" : tensor<64xf32>
  %heads = apc.constant dense<[2, 3, 8, 8]> : tensor<4xi64>
  %whole = apc.constant dense<[2, 3, 64]> : tensor<3xi64>
  %0 = "apc.matmul"(%x, %w) : (tensor<2x3x64xf32>, tensor<64x64xf32>) -> tensor<2x3x64xf32>
  %1 = "apc.add"(%0, %b) : (tensor<2x3x64xf32>, tensor<64xf32>) -> tensor<2x3x64xf32>
  %2 = "apc.reshape"(%1, %heads) : (tensor<2x3x64xf32>, tensor<4xi64>) -> tensor<2x3x8x8xf32>
  %3 = "apc.softmax"(%2) {axis = -1 : i64} : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %4 = "apc.reshape"(%3, %whole) : (tensor<2x3x8x8xf32>, tensor<3xi64>) -> tensor<2x3x64xf32>
  return %4 : tensor<2x3x64xf32>
})",
                                4);
  CHECK_THAT(text, Catch::Contains("(%arg0: tensor<2x3x16xf32>) -> tensor<2x3x16xf32>"));
  CHECK_THAT(text, Catch::Contains(R"("w" "initializer" : tensor<16x16xf32>)"));
  CHECK_THAT(text, Catch::Contains(R"("b" "initializer" : tensor<16xf32>)"));
  CHECK_THAT(text, Catch::Contains("dense<[2, 3, 2, 8]>"));
  CHECK_THAT(text, Catch::Contains("-> tensor<2x3x2x8xf32>"));
}

TEST_CASE("An op at fixed positions keeps its dim") {
  std::string text = scaledText(R"(
func.func @main(%x: tensor<4x16xf32>) -> tensor<4x4xf32> {
  %w = apc.parameter "w" "initializer" : tensor<16x8xf32>
  %one = apc.constant dense<1> : tensor<1xi64>
  %five = apc.constant dense<5> : tensor<1xi64>
  %0 = "apc.matmul"(%x, %w) : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = "apc.slice"(%0, %one, %five, %one, %one) : (tensor<4x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
})",
                                2);
  CHECK_THAT(text, Catch::Contains(R"("w" "initializer" : tensor<8x8xf32>)"));
  CHECK_THAT(text, Catch::Contains("tensor<4x4xf32>"));
}

TEST_CASE("A table of fewer rows is whole, not a piece") {
  std::string text = scaledText(R"(
func.func @main(%x: tensor<4x16xf32>, %rows: tensor<3xi64>) -> tensor<3x4xf32> {
  %w = apc.parameter "w" "initializer" : tensor<16x8xf32>
  %0 = "apc.matmul"(%x, %w) : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = "apc.transpose"(%0) {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = "apc.gather"(%1, %rows) : (tensor<8x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
})",
                                2);
  CHECK_THAT(text, Catch::Contains("(tensor<4x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>"));
  CHECK_THAT(text, !Catch::Contains("shard_offset") && !Catch::Contains("size = 8"));
}

TEST_CASE("A module without a dim to divide is refused") {
  std::string model = "func.func @main(%x: tensor<4x7xf32>) -> tensor<4x5xf32> {\n"
                      "  %w = apc.parameter \"w\" \"initializer\" : tensor<7x5xf32>\n"
                      "  %0 = \"apc.matmul\"(%x, %w) : (tensor<4x7xf32>, tensor<7x5xf32>) -> tensor<4x5xf32>\n"
                      "  return %0 : tensor<4x5xf32>\n}";
  CHECK_THAT(scaledText(model, 2), Catch::Contains("no hidden size can be divided by 2"));
  CHECK_THAT(scaledText(model, 1), Catch::Contains("2 is the least"));
}

TEST_CASE("Means of divided rows are over the elements that are left") {
  std::string text = scaledText(R"(
func.func @main(%x: tensor<2x16xf32>) -> tensor<2x16xf32> {
  %w = apc.parameter "w" "initializer" : tensor<16x16xf32>
  %g = apc.parameter "g" "initializer" : tensor<16xf32>
  %none = apc.none
  %axes = apc.constant dense<1> : tensor<1xi64>
  %0 = "apc.matmul"(%x, %w) : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
  %m = "apc.reduce_mean"(%0, %axes) : (tensor<2x16xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  %1 = "apc.sub"(%0, %m) : (tensor<2x16xf32>, tensor<2x1xf32>) -> tensor<2x16xf32>
  %s = "apc.layer_statistics"(%1, %none, %none) : (tensor<2x16xf32>, none, none) -> tensor<2x2xf32>
  %2:2 = "apc.layer_normalize"(%1, %s, %g, %none, %none, %none) : (tensor<2x16xf32>, tensor<2x2xf32>, tensor<16xf32>, none, none, none) -> (tensor<2x16xf32>, none)
  return %2#0 : tensor<2x16xf32>
})",
                                4);
  CHECK_THAT(text, Catch::Contains("(tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>"));
  CHECK_THAT(text, Catch::Contains("(tensor<2x4xf32>, none, none) -> tensor<2x2xf32>"));
  CHECK_THAT(text, !Catch::Contains("count"));
}

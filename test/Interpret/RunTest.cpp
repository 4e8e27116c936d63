// Modules on one device.
#include "TestPrograms.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Ops run in order, functions are called, parameters are asked for") {
  TestProgram program(R"(
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = apc.parameter "w" "initializer" : tensor<2x2xf32>
  %0 = call @twice(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = call @twice(%0, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}
func.func private @twice(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = "apc.add"(%a, %b) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = "apc.add"(%0, %0) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
})");
  unsigned numAsked = 0;
  auto results =
      run(*program.module, {counted(*program.context, {2, 2})}, [&](ParameterOp parameter) -> llvm::Expected<Tensor> {
        ++numAsked;
        CHECK(parameter.getName() == "w");
        return counted(*program.context, {2, 2}, 10);
      });
  REQUIRE(static_cast<bool>(results));
  CHECK(numAsked == 1);
  CHECK((*results)[0].floats == std::vector<double>{20, 24, 28, 32});
  CHECK((*results)[1].floats == std::vector<double>{60, 70, 80, 90});
}

TEST_CASE("Results are rounded to their element type") {
  TestProgram program(R"(
func.func @main(%x: tensor<1xf16>) -> tensor<1xf16> {
  %0 = "apc.add"(%x, %x) : (tensor<1xf16>, tensor<1xf16>) -> tensor<1xf16>
  %c = apc.constant dense<1.0> : tensor<1xf16>
  %1 = "apc.add"(%0, %c) : (tensor<1xf16>, tensor<1xf16>) -> tensor<1xf16>
  return %1 : tensor<1xf16>
})");
  Tensor x = counted(*program.context, {1}, 1024);
  x.element = mlir::Float16Type::get(program.context.get());
  auto results = run(*program.module, {x}, noParameter);
  REQUIRE(static_cast<bool>(results));
  CHECK((*results)[0].floats == std::vector<double>{2048}); // 2049 is between two f16 numbers; the even one is taken
}

TEST_CASE("Inputs that do not fit are refused by name") {
  TestProgram program(R"(
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = "apc.relu"(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
})");
  CHECK(errorOf(run(*program.module, {}, noParameter)) == "'main' takes 1 inputs, 0 are given");
  CHECK_THAT(errorOf(run(*program.module, {counted(*program.context, {2, 3})}, noParameter)),
             Catch::Contains("input 0 is [2, 3] of f32 with 6 elements, not tensor<2x2xf32>"));
  TestProgram collective(R"(
module attributes {apc.mesh = #apc.mesh<[x=2]>} {
  func.func @main(%x: tensor<2x2xf32>) -> tensor<4x2xf32> {
    %0 = apc.all_gather %x <#apc.mesh<[x=2]>, AllGather{x}, [x, -] -> [-, -] of [4, 2]> : (tensor<2x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
})");
  CHECK_THAT(errorOf(run(*collective.module, {counted(*collective.context, {2, 2})}, noParameter)),
             Catch::Contains("apc.all_gather: a collective needs a mesh of ranks"));
}

namespace {

/// The sum of x . w over the micro-batches, and twice that, once.
const char *const accumulating = R"(
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %none = apc.none
  %axes = apc.constant dense<0> : tensor<1xi64>
  %0 = "apc.reduce_sum"(%x, %axes) {keepdims = 0 : i64} : (tensor<2x2xf32>, tensor<1xi64>) -> tensor<2xf32>
  %1 = call @summed(%0) : (tensor<2xf32>) -> tensor<2xf32>
  apc.micro_batch_end 3
  %2 = "apc.add"(%1, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1, %2 : tensor<2xf32>, tensor<2xf32>
}
func.func private @summed(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "apc.accumulate"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
})";

} // namespace

TEST_CASE("The part above the end of a micro-batch runs with each of them, and sums go on") {
  TestProgram program(accumulating);
  std::vector<Tensor> inputs;
  for (double first : {0, 10, 100})
    inputs.push_back(counted(*program.context, {2, 2}, first));
  auto results = run(*program.module, inputs, noParameter);
  REQUIRE(static_cast<bool>(results));
  // Columns of 0 1 2 3, 10 11 12 13 and 100 101 102 103 sum to 2 4, 22 24 and 202 204; each contributes twice.
  CHECK((*results)[0].floats == std::vector<double>{452, 464});
  CHECK((*results)[1].floats == std::vector<double>{904, 928});
  CHECK(errorOf(run(*program.module, {inputs.front()}, noParameter)) ==
        "'main' takes 3 inputs in 3 micro-batches, 1 are given");
}

// Gradients through quantisation: straight through where codes do not saturate. Central differences of steps are zero
// or infinite, so formulas by hand are held against them.
#include "GradientPrograms.h"
#include "TrainingPrograms.h"

#include <catch2/catch.hpp>

using namespace apc;

using Lines = std::vector<std::string>;

namespace {

/// The gradient of x, the only input that has one, where `incoming` arrives at the result.
std::vector<double> gradientOfX(const std::string &text, const std::vector<double> &incoming) {
  GradientProgram program(text);
  ReversedProgram reversed = reverse(program);
  REQUIRE(reversed.module);
  CHECK(reversed.inputs == std::vector<unsigned>{0});
  std::vector<Tensor> inputs = program.inputs;
  Tensor seed = zeros(program.main().getResultTypes().front());
  seed.floats.assign(incoming.begin(), incoming.end());
  inputs.push_back(seed);
  Tensor found = runOn(*reversed.module, inputs).front();
  return {found.floats.begin(), found.floats.end()};
}

/// x [2, 3] quantised by scales and zero points of `shape` into `code`, and made numbers again by `other` scales.
std::string pairText(const std::string &x, const std::string &scale, const std::string &other, const std::string &shape,
                     const std::string &zero, const std::string &code, const std::string &axis) {
  std::string data = "tensor<2x3xf64>", scales = "tensor<" + shape + "f64>", zeros = "tensor<" + shape + code + ">",
              codes = "tensor<2x3x" + code + ">";
  return "func.func @main(%x: " + data + " {test.input = \"= " + x + " : 2x3xf64\"}) -> " + data + " {\n" +
         "%s = apc.constant dense<" + scale + "> : " + scales + "\n%t = apc.constant dense<" + other + "> : " + scales +
         "\n%z = apc.constant dense<" + zero + "> : " + zeros + "\n%q = \"apc.quantize_linear\"(%x, %s, %z) {" + axis +
         "} : (" + data + ", " + scales + ", " + zeros + ") -> " + codes +
         "\n%y = \"apc.dequantize_linear\"(%q, %t, %z) {" + axis + "} : (" + codes + ", " + scales + ", " + zeros +
         ") -> " + data + "\nreturn %y : " + data + "\n}";
}

} // namespace

TEST_CASE("A gradient that arrives behind a pair of quantisations goes through where the code does not saturate") {
  // round(x / 0.5) + 3 of 8 bits: -197, -128, 3 | 127, 128, -130.
  std::string text = pairText("[[-100.0, -65.5, 0.1], [61.9, 62.3, -66.4]]", "0.5", "0.5", "", "3", "i8", "");
  checkClose(gradientOfX(text, {1, 2, 3, 4, 5, 6}), {0, 2, 3, 4, 0, 0});
  // Without signs 3 is the distance to the least: round(x / 0.5) + 3 from 0 to 255.
  text = pairText("[[-1.4, -1.8, 0.1], [125.9, 126.3, 7.0]]", "0.5", "0.5", "", "3", "ui8", "");
  checkClose(gradientOfX(text, {1, 2, 3, 4, 5, 6}), {1, 0, 3, 4, 0, 6});
}

TEST_CASE("Each column has its scale, and scales that differ stay in the gradient") {
  std::string text = pairText("[[10.0, 10.0, 10.0], [-1.0, 200.0, -3.0]]", "[0.0625, 1.0, 2.0]", "[0.125, 3.0, 2.0]",
                              "3x", "[0, 0, 1]", "i8", "axis = 1 : i64");
  // 10 / 0.0625 is 160, and 200 more than 127. The others: incoming times 2, 3 and 1.
  checkClose(gradientOfX(text, {1, 2, 3, 4, 5, 6}), {0, 6, 3, 8, 0, 6});
}

TEST_CASE("Each block has its scale") {
  const char *text = R"(
func.func @main(%x: tensor<2x4xf64> {test.input = "= [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]] : 2x4xf64"}) -> tensor<2x4xf64> {
  %n = apc.none
  %s = apc.constant dense<[[1.0, 0.5], [0.03125, 4.0]]> : tensor<2x2xf64>
  %q = "apc.quantize_linear"(%x, %s, %n) {axis = 1 : i64, block_size = 2 : i64, output_dtype = 3 : i64} :
    (tensor<2x4xf64>, tensor<2x2xf64>, none) -> tensor<2x4xi8>
  %y = "apc.dequantize_linear"(%q, %s, %n) {axis = 1 : i64, block_size = 2 : i64} :
    (tensor<2x4xi8>, tensor<2x2xf64>, none) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
})";
  // 5 and 6 over 0.03125 are 160 and 192.
  checkClose(gradientOfX(text, {1, 2, 3, 4, 5, 6, 7, 8}), {1, 2, 3, 4, 0, 0, 7, 8});
}

TEST_CASE("Codes of floats saturate at the greatest of them") {
  const char *text = R"(
func.func @main(%x: tensor<4xf64> {test.input = "= [1.3, 447.0, -900.0, 899.0] : 4xf64"}) -> tensor<4xf64> {
  %n = apc.none
  %s = apc.constant dense<2.0> : tensor<f64>
  %q = "apc.quantize_linear"(%x, %s, %n) {output_dtype = 17 : i64} : (tensor<4xf64>, tensor<f64>, none) -> tensor<4xf8E4M3FN>
  %y = "apc.dequantize_linear"(%q, %s, %n) : (tensor<4xf8E4M3FN>, tensor<f64>, none) -> tensor<4xf64>
  return %y : tensor<4xf64>
})";
  checkClose(gradientOfX(text, {1, 2, 3, 4}), {1, 2, 0, 0}); // 448 is the greatest
}

TEST_CASE("A weight is trained through its codes; scales are not") {
  const char *text = R"(
func.func @main(%x: tensor<2x3xf32> {apc.name = "x"}) -> (tensor<2x4xf32> {apc.name = "y"}) {
  %w = apc.parameter "W" "initializer" : tensor<3x4xf32>
  %s = apc.parameter "scale" "initializer" : tensor<4xf32>
  %z = apc.constant dense<0> : tensor<4xi8>
  %q = "apc.quantize_linear"(%w, %s, %z) : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xi8>) -> tensor<3x4xi8> loc("q")
  %d = "apc.dequantize_linear"(%q, %s, %z) : (tensor<3x4xi8>, tensor<4xf32>, tensor<4xi8>) -> tensor<3x4xf32> loc("d")
  %y = "apc.matmul"(%x, %d) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32> loc("y")
  return %y : tensor<2x4xf32>
})";
  TrainingOptions options;
  options.loss = "sum:y";
  BuiltStep step(text, options);
  CHECK(step.trained() == Lines{"W"});
  CHECK(step.untrained() == Lines{"scale holds a table, a mask or statistics, by its use"});
  // Decided with the ops that they are gradients of, cut alike.
  CHECK(step.tiedTo("q") == Lines{"quantize_linear_grad: d0 d1"});
  CHECK(step.tiedTo("d") == Lines{"dequantize_linear_grad: d0 d1"});
}

// Gradients that a model asks for itself, with the numbers of ONNX's own tests of the operator.
#include "../ValueOf.h"
#include "GradientPrograms.h"

#include "apc/Autodiff/ExpandGradients.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The results of a module whose gradients are expanded.
std::vector<double> resultsOf(const std::string &text) {
  GradientProgram program(text);
  if (llvm::Error error = expandGradients(program.main()))
    FAIL(takeMessage(std::move(error)).second);
  std::vector<double> numbers;
  for (const Tensor &result : runOn(*program.module, program.inputs))
    numbers.insert(numbers.end(), result.floats.begin(), result.floats.end());
  return numbers;
}

/// d = a (a + b) for a = 1, b = 2, and p = 3, with `body` behind it.
std::string product(const std::string &body, const std::string &results) {
  std::string type = "tensor<f64>";
  return "func.func @main(%a: " + type + " {test.input = \"= 1.0 : f64\"}, %b: " + type +
         " {test.input = \"= 2.0 : f64\"}, %p: " + type + " {test.input = \"= 3.0 : f64\"}) -> " + results + R"( {
  %c = "apc.add"(%a, %b) : (tensor<f64>, tensor<f64>) -> tensor<f64> loc("c")
  %d = "apc.mul"(%c, %a) : (tensor<f64>, tensor<f64>) -> tensor<f64> loc("d")
)" + body +
         "}";
}

} // namespace

TEST_CASE("d = a (a + b) has the gradients 4 and 1 where a is 1 and b is 2, and a + b has 1 and 1") {
  CHECK(resultsOf(product(R"(
  %g:2 = "apc.gradient"(%a, %b, %a, %b, %d) {xs = ["a", "b"], y = "d"}
    : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>) loc("g")
  %h:2 = "apc.gradient"(%a, %b, %a, %b, %c) {xs = ["a", "b"], y = "c"}
    : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>) loc("h")
  return %g#0, %g#1, %h#0, %h#1 : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)",
                          "(tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)")) == std::vector<double>{4, 1, 1, 1});
}

TEST_CASE("A gradient is taken at the values that are given, of inputs and of values between") {
  // With a = 3 and b = 2 it is 2 a + b = 8; with a + b and a both given as 3, it is 3 for either.
  CHECK(resultsOf(product(R"(
  %g = "apc.gradient"(%p, %b, %a, %d, %b) {xs = ["a"], y = "d", zs = ["b"]}
    : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64> loc("g")
  %h:2 = "apc.gradient"(%p, %p, %c, %a, %d) {xs = ["c", "a"], y = "d"}
    : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>) loc("h")
  return %g, %h#0, %h#1 : tensor<f64>, tensor<f64>, tensor<f64>)",
                          "(tensor<f64>, tensor<f64>, tensor<f64>)")) == std::vector<double>{8, 3, 3});
}

TEST_CASE("A gradient of a gradient is the second derivative: d has 2 by a twice, 1 by a and b, 0 by b twice") {
  CHECK(resultsOf(product(R"(
  %g:2 = "apc.gradient"(%a, %b, %a, %b, %d) {xs = ["a", "b"], y = "d"}
    : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>) loc("g")
  %h:2 = "apc.gradient"(%a, %b, %a, %b, %g#0) {xs = ["a", "b"], y = "dd_da"}
    : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>) loc("h")
  %k:2 = "apc.gradient"(%a, %b, %a, %b, %g#1) {xs = ["a", "b"], y = "dd_db"}
    : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>) loc("k")
  return %h#0, %h#1, %k#0, %k#1 : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)",
                          "(tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)")) == std::vector<double>{2, 1, 1, 0});
}

TEST_CASE("Ops without a gradient on the way are all named") {
  GradientProgram program(R"(
func.func @main(%a: tensor<3xf64>) -> tensor<3xf64> {
  %x = "apc.hardmax"(%a) : (tensor<3xf64>) -> tensor<3xf64> loc("x")
  %y = "apc.lp_normalization"(%x) : (tensor<3xf64>) -> tensor<3xf64> loc("y")
  %g = "apc.gradient"(%a, %a, %y) {xs = ["a"], y = "y"} : (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> loc("g")
  return %g : tensor<3xf64>
})");
  llvm::Error error = expandGradients(program.main());
  REQUIRE(static_cast<bool>(error));
  auto [fault, message] = takeMessage(std::move(error));
  CHECK(fault == Fault::Input);
  CHECK(message == "'g' (gradient) asks for a gradient through ops that have none: 'y' (lp_normalization), 'x' "
                   "(hardmax: its results are steps, through which nothing is trained, and Softmax is accepted)");
}

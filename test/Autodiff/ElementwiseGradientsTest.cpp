// Gradients of elementwise operators.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

namespace {

/// The slope at each x of a function of one operand.
std::vector<double> slopesOf(const std::string &op, const std::string &list, size_t count,
                             const std::string &attributes = "") {
  std::string input = "= " + list + " : " + std::to_string(count) + "xf64";
  return gradientsOf({op, {input}, attributes}, {std::vector<double>(count, 1)}).at(0);
}

} // namespace

TEST_CASE("Arithmetic of two operands reverses, with broadcasting") {
  for (const char *op : {"apc.add", "apc.sub", "apc.mul"}) {
    checkGradients({op, {"3x4xf64", "3x4xf64"}});
    checkGradients({op, {"3x4xf64", "4xf64"}});
    checkGradients({op, {"4xf64", "3x1xf64"}});
    checkGradients({op, {"f64", "2x3xf64"}});
    checkGradients({op, {"2x3xf64", "[2.0, 3.0, 4.0] : 3xf64"}});
  }
  checkGradients({"apc.div", {"3x4xf64", "4xf64 in 0.6 3"}});
  checkGradients({"apc.div", {"4xf64", "3x1xf64 in -3 -0.6"}});
}

TEST_CASE("Operands that stand at an axis, as before opset 7, get the sums over the other dims") {
  for (const char *op : {"apc.add", "apc.sub", "apc.mul"}) {
    checkGradients({op, {"2x3x4xf64", "3xf64"}, "axis = 1 : i64, broadcast = 1 : i64"});
    checkGradients({op, {"2x3x4x2xf64", "3x1xf64"}, "axis = 1 : i64, broadcast = 1 : i64"});
  }
  checkGradients({"apc.div", {"2x3x4xf64", "2x3xf64 in 0.6 3"}, "axis = 0 : i64, broadcast = 1 : i64"});
  checkGradients({"apc.pow", {"2x3x4xf64 in 0.6 2", "2x3xf64"}, "axis = 0 : i64, broadcast = 1 : i64"});
  checkGradients({"apc.prelu", {"2x3x4xf64", "3xf64"}, "opset_version = 6 : i64"});
}

TEST_CASE("An operand that is read twice gets both gradients") {
  checkGradients(R"(
func.func @main(%x: tensor<2x3xf64>, %y: tensor<3xf64>) -> tensor<2x3xf64> {
  %0 = "apc.mul"(%x, %x) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  %1 = "apc.mul"(%0, %y) : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  %2 = "apc.sub"(%1, %x) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %2 : tensor<2x3xf64>
})");
}

TEST_CASE("Powers reverse in base and exponent") {
  checkGradients({"apc.pow", {"3x4xf64 in 0.6 2", "4xf64"}});
  checkGradients({"apc.pow", {"4xf64 in 0.6 2", "3x1xf64"}});
  for (const char *exponent : {"[2.0] : 1xf64", "[3.0] : 1xf64", "[1.0] : 1xf64", "[0.0] : 1xf64", "[3] : 1xi64"})
    checkGradients({"apc.pow", {"3x4xf64", exponent}});
  checkGradients({"apc.pow", {"3xf64 in 0.6 2", "[2, 0, -1] : 3xi32"}});
  // At 0: e x^(e - 1) with 0 for e = 0, and no slope in e >= 0.
  auto atZero = gradientsOf({"apc.pow", {"= [0.0, 0.0, 0.0] : 3xf64", "= [0.0, 1.0, 2.0] : 3xf64"}}, {{1, 1, 1}});
  CHECK(atZero.at(0) == std::vector<double>{0, 1, 0});
  CHECK(atZero.at(1) == std::vector<double>{0, 0, 0});
}

TEST_CASE("Real functions reverse") {
  for (const char *op :
       {"exp",     "erf",      "sin",        "cos",          "atan",       "sinh",  "cosh",      "tanh", "asinh",
        "sigmoid", "softplus", "softsign",   "mish",         "hard_swish", "relu",  "neg",       "abs",  "elu",
        "celu",    "selu",     "leaky_relu", "hard_sigmoid", "gelu",       "swish", "quick_gelu"})
    checkGradients({std::string("apc.") + op, {"3x5xf64"}});
  for (const char *op : {"log", "sqrt", "reciprocal", "tan"})
    checkGradients({std::string("apc.") + op, {"3x4xf64 in 0.3 1.4"}});
  for (const char *op : {"asin", "acos", "atanh"})
    checkGradients({std::string("apc.") + op, {"3x4xf64 in -0.9 0.9"}});
  checkGradients({"apc.acosh", {"3x4xf64 in 1.1 3"}});
  checkGradients({"apc.probit", {"3x4xf64 in 0.1 0.9"}});
}

TEST_CASE("Activations with coefficients reverse") {
  checkGradients({"apc.elu", {"3x4xf64"}, "alpha = 1.5 : f32"});
  checkGradients({"apc.celu", {"3x4xf64"}, "alpha = 0.5 : f32"});
  checkGradients({"apc.selu", {"3x4xf64"}, "alpha = 1.5 : f32, gamma = 2.0 : f32"});
  checkGradients({"apc.leaky_relu", {"3x4xf64"}, "alpha = 0.25 : f32"});
  checkGradients({"apc.leaky_relu", {"3x4xf64"}, "alpha = -0.25 : f32"});
  checkGradients({"apc.hard_sigmoid", {"3x4xf64"}, "alpha = 0.5 : f32, beta = 0.25 : f32"});
  checkGradients({"apc.thresholded_relu", {"3x4xf64"}, "alpha = 0.5 : f32"});
  checkGradients({"apc.shrink", {"3x4xf64"}, "bias = 0.25 : f32, lambd = 0.5 : f32"});
  checkGradients({"apc.gelu", {"3x4xf64"}, "approximate = \"tanh\""});
  checkGradients({"apc.swish", {"3x4xf64"}, "alpha = 2.0 : f32"});
  checkGradients({"apc.quick_gelu", {"3x4xf64"}, "alpha = 1.5 : f32"});
  checkGradients({"apc.prelu", {"2x3xf64", "3xf64"}});
  checkGradients({"apc.prelu", {"2x3x4xf64", "3x1xf64"}});
  checkGradients({"apc.fast_gelu", {"2x3xf64", "3xf64"}});
  checkGradients({"apc.fast_gelu", {"2x3xf64", "none"}});
  checkGradients({"apc.bias_gelu", {"2x3xf64", "3xf64"}});
}

TEST_CASE("Slopes of smooth activations are PyTorch's") {
  checkClose(slopesOf("apc.gelu", "[-1.0, 0.0, 0.5, 2.0]", 4), {-0.083315471, 0.5, 0.867495125, 1.085231801}, 1e-8);
  checkClose(slopesOf("apc.gelu", "[-1.0, 0.0, 0.5, 2.0]", 4, "approximate = \"tanh\""),
             {-0.082964084, 0.5, 0.867369904, 1.086099257}, 1e-8);
  checkClose(slopesOf("apc.swish", "[-1.0, 0.0, 0.5, 2.0]", 4), {0.072329488, 0.5, 0.739961187, 1.090784249}, 1e-8);
}

TEST_CASE("Slopes at kinks are PyTorch's") {
  CHECK(slopesOf("apc.relu", "[-1.0, 0.0, 1.0]", 3) == std::vector<double>{0, 0, 1});
  CHECK(slopesOf("apc.abs", "[-1.0, 0.0, 1.0]", 3) == std::vector<double>{-1, 0, 1});
  CHECK(slopesOf("apc.leaky_relu", "[-1.0, 0.0, 1.0]", 3, "alpha = 0.25 : f32") == std::vector<double>{0.25, 0.25, 1});
  CHECK(slopesOf("apc.elu", "[0.0]", 1, "alpha = 2.0 : f32") == std::vector<double>{2});
  CHECK(slopesOf("apc.celu", "[0.0]", 1, "alpha = 2.0 : f32") == std::vector<double>{1});
  CHECK(slopesOf("apc.hard_sigmoid", "[-2.0, 0.0, 2.0]", 3, "alpha = 0.25 : f32") == std::vector<double>{0, 0.25, 0});
  CHECK(slopesOf("apc.thresholded_relu", "[1.0, 1.5]", 2) == std::vector<double>{0, 1});
  CHECK(slopesOf("apc.softsign", "[0.0]", 1) == std::vector<double>{1});
  CHECK(std::isinf(slopesOf("apc.sqrt", "[0.0]", 1)[0]));
  auto prelu = gradientsOf({"apc.prelu", {"= [-1.0, 0.0, 1.0] : 3xf64", "= [0.25] : 1xf64"}}, {{1, 2, 3}});
  CHECK(prelu.at(0) == std::vector<double>{0.25, 0.5, 3});
  CHECK(prelu.at(1) == std::vector<double>{-1});
}

TEST_CASE("Clip lets gradients through between its bounds and on them") {
  checkGradients({"apc.clip", {"3x4xf64", "[-1.0] : 1xf64", "[1.0] : 1xf64"}});
  checkGradients({"apc.clip", {"3x4xf64", "none", "[0.5] : 1xf64"}});
  checkGradients({"apc.clip", {"3x4xf64", "cut 1xf64 in 0.1 0.4", "none"}});
  auto bounds = gradientsOf({"apc.clip", {"= [-2.0, -1.0, 0.0, 1.0, 2.0] : 5xf64", "[-1.0] : 1xf64", "[1.0] : 1xf64"}},
                            {{1, 2, 3, 4, 5}});
  CHECK(bounds.at(0) == std::vector<double>{0, 2, 3, 4, 0});
}

TEST_CASE("Choices give the gradient to what was chosen") {
  checkGradients({"apc.where", {"3x4xi1 below 2", "3x4xf64", "4xf64"}});
  checkGradients({"apc.where", {"4xi1 below 2", "3x1xf64", "f64"}});
  checkGradients({"apc.max", {"3x4xf64", "4xf64", "f64"}});
  checkGradients({"apc.min", {"3x4xf64", "4xf64", "[0.25] : 1xf64"}});
  checkGradients({"apc.max", {"3xf64"}});
  auto tied =
      gradientsOf({"apc.max", {"= [1.0, 2.0] : 2xf64", "= [1.0, 1.0] : 2xf64", "= [1.0, 2.0] : 2xf64"}}, {{6, 8}});
  CHECK(tied == std::vector<std::vector<double>>{{2, 4}, {2, 0}, {2, 4}});
  CHECK(gradientsOf({"apc.min", {"= [1.0, 2.0] : 2xf64", "= [1.0] : 1xf64"}}, {{6, 8}}) ==
        std::vector<std::vector<double>>{{3, 0}, {11}});
}

TEST_CASE("Sums and means of any number of operands reverse") {
  checkGradients({"apc.sum", {"3x4xf64", "4xf64", "3x1xf64"}});
  checkGradients({"apc.mean", {"3x4xf64", "4xf64", "f64"}});
}

TEST_CASE("Remainders follow the dividend, and the divisor by the whole quotient") {
  checkGradients({"apc.mod", {"3x4xf64", "4xf64 in 0.6 0.9"}, "fmod = 1 : i64"});
  checkGradients({"apc.mod", {"4xf64", "3x1xf64 in -0.9 -0.6"}, "fmod = 1 : i64"});
  auto whole =
      gradientsOf({"apc.mod", {"= [5.5, -5.5, 7.0, 1.0] : 4xf64", "= [2.0, 2.0, -3.0, 4.0] : 4xf64"}, "fmod = 1 : i64"},
                  {{1, 1, 10, 1}});
  CHECK(whole == std::vector<std::vector<double>>{{1, 1, 10, 1}, {-2, 2, 20, 0}});
}

TEST_CASE("Casts give the gradient back in the operand's type") {
  auto there = gradientsOf({"apc.cast", {"= [1.0, 2.0] : 2xf64"}, "to = 1 : i64"}, {{0.5, 3}});
  CHECK(there.at(0) == std::vector<double>{0.5, 3});
  auto like = gradientsOf({"apc.cast_like", {"= [1.0, 2.0] : 2xf32", "[0.0] : 1xf64"}}, {{0.5, 3}});
  CHECK(like.at(0) == std::vector<double>{0.5, 3});
  // Integers have no gradient, and what is made of them has none to give.
  checkGradients(R"(
func.func @main(%x: tensor<3xf64> {test.input = "cut"}, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "apc.cast"(%x) {to = 7 : i64} : (tensor<3xf64>) -> tensor<3xi64>
  %1 = "apc.cast_like"(%0, %y) : (tensor<3xi64>, tensor<3xf64>) -> tensor<3xf64>
  %2 = "apc.mul"(%1, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %2 : tensor<3xf64>
})");
}

TEST_CASE("Steps of floats have a gradient of zeros, and none is missing of what has none") {
  for (const char *op : {"apc.sign", "apc.ceil", "apc.floor", "apc.round"})
    checkGradients({op, {"3x4xf64"}});
  CHECK(gradientsOf({"apc.round", {"3xf64"}}, {{1, 1, 1}}) == std::vector<std::vector<double>>{{0, 0, 0}});
  CHECK(gradientsOf({"apc.binarizer", {"3xf64"}}, {{1, 1, 1}}) == std::vector<std::vector<double>>{{}});
  checkGradients({"apc.binarizer", {"3x4xf64"}});
  checkGradients({"apc.less", {"3x4xf64", "4xf64"}});
  checkGradients({"apc.label_encoder", {"3x4xf64"}, "keys_floats = array<f32: 1.0>, values_floats = array<f32: 2.0>"});
  checkGradients(
      {"apc.tree_ensemble",
       {"3x2xf64"},
       "leaf_targetids = array<i64: 0, 0>, leaf_weights = dense<[1.0, 2.0]> : tensor<2xf64>, nodes_falseleafs = "
       "array<i64: 1>, nodes_falsenodeids = array<i64: 1>, nodes_featureids = array<i64: 0>, nodes_modes = "
       "dense<0> : tensor<1xui8>, nodes_splits = dense<0.0> : tensor<1xf64>, nodes_trueleafs = array<i64: "
       "1>, nodes_truenodeids = array<i64: 0>, tree_roots = array<i64: 0>"});
}

TEST_CASE("Dropout reverses by its mask, scaled") {
  checkGradients({"apc.dropout", {"3x4xf64", "none", "none", "none"}});
  checkGradients({"apc.dropout", {"3x4xf64", "[0.5] : 1xf32", "[false] : 1xi1", "none"}, "", 2});
  // Nothing is dropped at a ratio of 0.
  checkGradients({"apc.dropout", {"3x4xf64", "[0.0] : 1xf32", "[true] : 1xi1", "none"}, "", 2});
  // The mask is kept though nothing else reads it.
  checkGradients({"apc.dropout", {"3x4xf64", "[0.5] : 1xf32", "[true] : 1xi1", "none"}});
  checkGradients({"apc.dropout", {"3x4xf64", "[0.25] : 1xf32", "[true] : 1xi1", "none"}, "seed = 7 : i64", 2});
  checkGradients({"apc.dropout", {"3x4xf64", "[1.0] : 1xf32", "[true] : 1xi1", "none"}});
  for (const char *mode : {"= [true] : 1xi1", "= [false] : 1xi1", "[true] : 1xi1"})
    for (const char *ratio : {"cut 1xf64 in 0.2 0.8", "= [1.0] : 1xf32", "[0.5] : 1xf32"})
      checkGradients({"apc.dropout", {"3x4xf64", ratio, mode, "none"}, "seed = 7 : i64", 2});
  CHECK_FALSE(isRefused({"apc.dropout", {"3x4xf64", "[0.5] : 1xf32", "[true] : 1xi1", "none"}, "", 2}));
}

TEST_CASE("Sums with a bias and halves of rows that gate each other reverse") {
  checkGradients({"apc.bias_add", {"2x3x4xf64", "4xf64", "2x3x4xf64"}});
  checkGradients({"apc.bias_split_gelu", {"2x3x8xf64", "8xf64"}});
}

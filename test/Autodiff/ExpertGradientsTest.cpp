// Gradients of mixtures of experts.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Three experts of hidden size 4 and inner size 5.
OpCase mixture(std::vector<std::string> operands, const std::string &attributes) {
  operands.resize(8, "none");
  return {"apc.moe", std::move(operands), "k = 2 : i64" + attributes};
}

const std::vector<std::string> plain = {"6x4xf64", "6x3xf64", "3x5x4xf64", "3x5xf64", "3x4x5xf64", "3x4xf64"};

} // namespace

TEST_CASE("Mixtures of experts reverse for input, router, weights and biases, however activated") {
  for (const char *type :
       {"relu", "gelu", "silu", "identity", "tanh", "sigmoid", "selu", "elu", "leakyrelu", "softsign", "hardsigmoid"}) {
    std::string activation = ", activation_type = \"" + std::string(type) + "\"";
    checkGradients(mixture(plain, activation));
    checkGradients(mixture(plain, activation + ", normalize_routing_weights = 1 : i64"));
  }
  checkGradients({"apc.moe", {"6x4xf64", "6x3xf64", "3x5x4xf64", "none", "3x4x5xf64", "none", "none", "none"}});
}

TEST_CASE("Experts that no token visits have no gradient") {
  std::vector<std::string> operands = plain;
  operands[1] = "= [[1.0, 2.0, -3.0], [2.0, 1.0, -3.0]] : 2x3xf64";
  operands[0] = "2x4xf64";
  std::vector<std::vector<double>> gradients = gradientsOf(mixture(operands, ""), {std::vector<double>(8, 1)});
  REQUIRE(gradients.size() == 6);
  auto isUsed = [&](size_t operand, size_t expert) {
    size_t size = gradients[operand].size() / 3;
    auto begin = gradients[operand].begin() + static_cast<std::ptrdiff_t>(expert * size);
    return std::any_of(begin, begin + static_cast<std::ptrdiff_t>(size), [](double x) { return x != 0; });
  };
  for (size_t operand = 2; operand < 6; ++operand) {
    CHECK((isUsed(operand, 0) || isUsed(operand, 1)));
    CHECK(!isUsed(operand, 2));
  }
}

TEST_CASE("Mixtures of batches of tokens reverse, with weights in the other order and a third layer") {
  checkGradients(mixture({"2x3x4xf64", "6x3xf64", "3x4x5xf64", "3x5xf64", "3x5x4xf64", "3x4xf64"}, ""));
  std::vector<std::string> three = plain;
  three.insert(three.end(), {"3x5x4xf64", "3x5xf64"});
  checkGradients(mixture(three, ", activation_type = \"silu\", normalize_routing_weights = 1 : i64"));
}

TEST_CASE("Gated experts reverse, with gates and values fused in turn, in blocks or apart") {
  std::string gated = ", activation_type = \"swiglu\"";
  std::string bounds = ", activation_alpha = 1.5 : f32, activation_beta = 0.75 : f32, swiglu_limit = 2.5 : f32";
  for (const char *fusion : {", swiglu_fusion = 1 : i64", ", swiglu_fusion = 2 : i64"})
    for (const std::string &bound : {std::string(), bounds})
      checkGradients(
          mixture({"6x4xf64", "6x3xf64", "3x10x4xf64", "3x10xf64", "3x4x5xf64", "3x4xf64"}, gated + fusion + bound));
  checkGradients(
      mixture({"2x3x4xf64", "6x3xf64", "3x4x10xf64", "3x10xf64", "3x5x4xf64"}, gated + ", swiglu_fusion = 1 : i64"));
  std::vector<std::string> apart = plain;
  apart.insert(apart.end(), {"3x5x4xf64", "3x5xf64"});
  checkGradients(mixture(apart, gated + bounds));
  checkGradients(mixture(plain, gated));
}

TEST_CASE("Mixtures of other kinds are refused") {
  CHECK(refusalOf(mixture(plain, ", use_sparse_mixer = 1 : i64")) ==
        "attribute 'use_sparse_mixer' is 1, and 0 is accepted");
  CHECK(refusalOf(mixture(plain, ", activation_type = \"cube\"")) ==
        "attribute 'activation_type' is 'cube', and swiglu, Identity, Relu, LeakyRelu, ThresholdedRelu, Tanh, "
        "ScaledTanh, Sigmoid, HardSigmoid, Silu, Gelu, FastGelu, Elu, Selu, Softplus, Softsign, Affine and Clip are "
        "accepted");
}

namespace {

/// Two experts of hidden size 4 and inner size 2, with weights of 4 bits.
OpCase quantised(std::vector<std::string> operands, const std::string &attributes) {
  operands.resize(21, "none");
  return {"apc.qmoe", std::move(operands), attributes.substr(2)};
}

const std::vector<std::string> packed = {"3x4xf64",
                                         "3x2xf64",
                                         "[[[33, 84], [237, 240]], [[15, 122], [7, 200]]] : 2x2x2xui8",
                                         "[[0.5, 2.0], [1.5, -0.25]] : 2x2xf64",
                                         "2x2xf64",
                                         "[[[18], [52], [86], [120]], [[154], [188], [222], [240]]] : 2x4x1xui8",
                                         "[[0.5, 2.0, 1.0, 0.25], [1.5, -0.25, 0.5, 1.0]] : 2x4xf64",
                                         "2x4xf64"};

} // namespace

TEST_CASE("Mixtures with quantised weights reverse for input, router and biases") {
  for (const char *type : {"relu", "silu", "identity"}) {
    std::string activation = ", activation_type = \"" + std::string(type) + "\"";
    checkGradients(quantised(packed, activation));
    checkGradients(quantised(packed, activation + ", k = 2 : i64, normalize_routing_weights = 1 : i64"));
  }
  std::vector<std::string> operands = packed; // blocks of two columns, zero points, shares of their own
  operands[3] = "[[[0.5, 2.0], [1.0, 1.5]], [[1.5, -0.25], [0.5, 0.75]]] : 2x2x2xf64";
  operands.resize(15, "none");
  operands[11] = "[[[135], [104]], [[120], [7]]] : 2x2x1xui8";
  operands[12] = "[[[8], [7], [9], [8]], [[7], [6], [8], [9]]] : 2x4x1xui8";
  operands[14] = "3x2xf64 in 0.1 2";
  checkGradients(quantised(operands, ", block_size = 2 : i64, normalize_routing_weights = 1 : i64"));
}

TEST_CASE("Quantised mixtures that are packed or scaled otherwise are refused") {
  CHECK(refusalOf(quantised(packed, ", expert_weight_bits = 2 : i64")) ==
        "attribute 'expert_weight_bits' is 2, and 4 and 8 are accepted");
  CHECK(refusalOf(quantised(packed, ", weights_prepacked = 1 : i64")) ==
        "weights are packed for tensor cores, and [experts, outputs, inputs] are accepted");
  CHECK(refusalOf(quantised(packed, ", quant_type = \"fp4\"")) ==
        "attribute 'quant_type' is 'fp4', and int is accepted");
}

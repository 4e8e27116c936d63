// Gradients of operators that carry a state along the positions.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// On three positions, with keys of two elements and values of three.
OpCase linear(int queryHeads, int keyHeads, std::vector<std::string> behind, const std::string &rule) {
  auto sequence = [](int size) { return "2x3x" + std::to_string(size) + "xf64"; };
  std::vector<std::string> operands = {sequence(2 * queryHeads), sequence(2 * keyHeads), sequence(3 * keyHeads)};
  operands.insert(operands.end(), behind.begin(), behind.end());
  operands.resize(6, "none");
  return {"apc.linear_attention", std::move(operands),
          "q_num_heads = " + std::to_string(queryHeads) + " : i64, kv_num_heads = " + std::to_string(keyHeads) +
              " : i64, update_rule = \"" + rule + "\"",
          2};
}

OpCase causal(std::vector<std::string> operands, const std::string &attributes) {
  operands.resize(4, "none");
  return {"apc.causal_conv_with_state", std::move(operands), attributes, 2};
}

} // namespace

TEST_CASE("Linear attention reverses under each rule, with its state") {
  for (const char *rule : {"linear", "gated", "delta", "gated_delta"}) {
    checkGradients(linear(2, 2, {}, rule));
    checkGradients(linear(2, 2, {"2x2x2x3xf64"}, rule));
  }
  checkGradients(linear(1, 1, {"2x1x2x3xf64", "2x3x1xf64", "2x3x1xf64"}, "gated_delta"));
}

TEST_CASE("Gates of linear attention reverse, of one value for a head, its elements or all") {
  for (const char *decay : {"none", "2x3x2xf64 in -0.9 0", "2x3x4xf64 in -0.9 0", "2x3x1xf64 in -0.9 0"})
    for (const char *beta : {"none", "2x3x2xf64", "2x3x1xf64"})
      checkGradients(linear(2, 2, {"2x2x2x3xf64", decay, beta}, "gated_delta"));
  checkGradients(linear(2, 2, {"none", "2x3x4xf64 in -0.9 0"}, "gated"));
}

TEST_CASE("Linear attention reverses where queries share a key, or keys a query") {
  for (auto [queryHeads, keyHeads] : {std::pair(4, 2), std::pair(2, 4), std::pair(3, 1), std::pair(1, 3)}) {
    std::string heads = std::to_string(keyHeads);
    checkGradients(linear(queryHeads, keyHeads,
                          {"2x" + heads + "x2x3xf64", "2x3x" + heads + "xf64 in -0.9 0", "2x3x" + heads + "xf64"},
                          "gated_delta"));
    checkGradients(linear(queryHeads, keyHeads, {"none", "2x3x1xf64 in -0.9 0", "2x3x1xf64"}, "gated_delta"));
  }
}

TEST_CASE("Causal convolution reverses, with a past and an activation") {
  for (const char *activation : {"", "activation = \"silu\"", "activation = \"softplus\""}) {
    checkGradients(causal({"2x3x5xf64", "3x1x3xf64"}, activation));
    checkGradients(causal({"2x3x5xf64", "3x1x3xf64", "3xf64", "2x3x2xf64"}, activation));
  }
  for (const char *activation : {"relu", "tanh", "sigmoid", "gelu", "FastGelu", "selu", "HardSigmoid"})
    checkGradients(causal({"2x3x4xf64", "3x1x2xf64", "3xf64"}, "activation = \"" + std::string(activation) + "\""));
  checkGradients(causal({"2x3x3xf64", "3x1x3xf64", "3xf64", "2x3x4xf64"}, "dilation = 2 : i64"));
  checkGradients(causal({"2x3x3xf64", "3x1x1xf64", "3xf64"}, ""));
  CHECK(
      refusalOf(causal({"2x3x3xf64", "3x1x2xf64"}, "activation = \"cube\"")).find("'activation' is 'cube', and Ide") !=
      std::string::npos);
}

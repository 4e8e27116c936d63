// Gradients of recurrent operators, through the positions and to all parameters.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

const char *const directions[] = {"forward", "reverse", "bidirectional"};

/// 3 positions, batch 2, 2 inputs and 2 hidden units in each direction; every operand is an input.
OpCase recurrent(const std::string &cell, int64_t gates, const std::string &direction, const std::string &attributes,
                 bool batchFirst = false) {
  std::string d = direction == "bidirectional" ? "2" : "1", rows = std::to_string(2 * gates);
  std::string state = (batchFirst ? "2x" + d : d + "x2") + "x2xf64";
  OpCase test{"apc." + cell,
              {batchFirst ? "2x3x2xf64" : "3x2x2xf64", d + "x" + rows + "x2xf64", d + "x" + rows + "x2xf64",
               d + "x" + std::to_string(4 * gates) + "xf64", "none", state},
              "direction = \"" + direction + "\", layout = " + (batchFirst ? "1" : "0") + " : i64" + attributes,
              2};
  if (cell == "lstm") {
    test.operands.insert(test.operands.end(), {state, d + "x6xf64"});
    test.numResults = 3;
  }
  return test;
}

OpCase withLengths(OpCase test) {
  test.operands[4] = "[2, 3] : 2xi32";
  return test;
}

/// The inputs alone: neither bias nor states nor peepholes.
OpCase bare(OpCase test) {
  for (size_t index = 3; index < test.operands.size(); ++index)
    test.operands[index] = "none";
  test.numResults = 1;
  return test;
}

} // namespace

TEST_CASE("Plain cells reverse in all directions, over sequences of several lengths, by layout") {
  for (const char *direction : directions) {
    checkGradients(recurrent("rnn", 1, direction, ""));
    checkGradients(withLengths(recurrent("rnn", 1, direction, "", /*batchFirst=*/true)));
    checkGradients(bare(recurrent("rnn", 1, direction, "")));
  }
}

TEST_CASE("Gated units reverse with the reset before R and behind it") {
  for (const char *reset : {"", ", linear_before_reset = 1 : i64"})
    for (const char *direction : directions) {
      checkGradients(recurrent("gru", 3, direction, reset));
      checkGradients(withLengths(recurrent("gru", 3, direction, reset, /*batchFirst=*/true)));
      checkGradients(bare(recurrent("gru", 3, direction, reset)));
    }
}

TEST_CASE("Cells with a memory reverse, with peepholes and coupled gates") {
  for (const char *coupled : {"", ", input_forget = 1 : i64"})
    for (const char *direction : directions) {
      checkGradients(recurrent("lstm", 4, direction, coupled));
      checkGradients(withLengths(recurrent("lstm", 4, direction, coupled, /*batchFirst=*/true)));
      checkGradients(bare(recurrent("lstm", 4, direction, coupled)));
    }
}

TEST_CASE("Every activation of a recurrent cell has its slope, and clipped sums have none") {
  for (const char *name : {"Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid", "Softplus",
                           "Softsign", "Tanh", "ThresholdedRelu"}) {
    INFO(name);
    std::string activations = ", activations = [\"" + std::string(name) + "\"]";
    checkGradients(
        recurrent("rnn", 1, "forward",
                  activations + ", activation_alpha = array<f32: 0.75>, activation_beta = array<f32: 0.25>"));
    checkGradients(recurrent("rnn", 1, "reverse", activations));
  }
  checkGradients(recurrent("rnn", 1, "forward", ", clip = 0.7 : f32"));
  checkGradients(recurrent("gru", 3, "forward", ", clip = 0.7 : f32"));
  checkGradients(recurrent("lstm", 4, "forward", ", clip = 0.7 : f32"));
}

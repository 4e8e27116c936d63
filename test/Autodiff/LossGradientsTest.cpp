// Gradients of losses.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("The cross entropy reverses for every reduction, with weights and ignored labels") {
  std::string labels = "[0, 3, 1] : 3xi64";
  for (const char *reduction : {"mean", "sum", "none"}) {
    std::string attribute = "reduction = \"" + std::string(reduction) + "\"";
    checkGradients({"apc.softmax_cross_entropy_loss", {"3x4xf64", labels, "none"}, attribute});
    checkGradients({"apc.softmax_cross_entropy_loss",
                    {"3x4xf64", labels, "[1.0, 0.5, 2.0, 0.25] : 4xf64"},
                    attribute + ", ignore_index = 1 : i64"});
    checkGradients({"apc.softmax_cross_entropy_loss",
                    {"2x4x2xf64", "[[0, 3], [-100, 1]] : 2x2xi64", "none"},
                    attribute + ", ignore_index = -100 : i64"});
  }
}

TEST_CASE("The log probabilities beside the cross entropy reverse, too") {
  checkGradients({"apc.softmax_cross_entropy_loss", {"3x4xf64", "[0, 3, 1] : 3xi64", "none"}, "", 2});
}

/// Checks the cross entropy by way of the logarithmic sum for scores of 4 classes, dim `axis`, with labels [3, 2].
static void checkCrossEntropy(const std::string &scores, const std::string &sums, int axis) {
  for (const char *reduction : {"mean", "sum", "none"}) {
    std::string type = reduction == std::string("none") ? "tensor<3x2xf64>" : "tensor<f64>";
    std::string at = std::to_string(axis);
    std::string text = "func.func @main(%x: " + scores + ") -> " + type + " {\n  %axes = apc.constant dense<" + at +
                       R"(> : tensor<1xi64>
  %labels = apc.constant dense<[[0, 3], [1, 2], [-1, 0]]> : tensor<3x2xi64>
  %w = apc.constant dense<[1.0, 0.5, 2.0, 0.25]> : tensor<4xf64>
  %s = "apc.log_sum_exp"(%x, %axes) : ()" +
                       scores + ", tensor<1xi64>) -> " + sums +
                       "\n  %y = \"apc.cross_entropy\"(%x, %s, %labels, %w) {axis = " + at +
                       " : i64, ignore_index = -1 : i64, reduction = \"" + reduction + "\"} : (" + scores + ", " +
                       sums + ", tensor<3x2xi64>, tensor<4xf64>) -> " + type + "\n  return %y : " + type + "\n}";
    checkGradients(text.c_str());
  }
}

TEST_CASE("The cross entropy by way of the logarithmic sum reverses for every reduction") {
  checkCrossEntropy("tensor<3x4x2xf64>", "tensor<3x1x2xf64>", 1);
}

TEST_CASE("The cross entropy reverses where its classes are the last dim") {
  checkCrossEntropy("tensor<3x2x4xf64>", "tensor<3x2x1xf64>", 2);
}

TEST_CASE("The logarithm of a sum of exponentials reverses, in the precision of its operand") {
  checkGradients({"apc.log_sum_exp", {"3x4x2xf64", "[1] : 1xi64"}});
  checkGradients({"apc.log_sum_exp", {"3x4xf64", "none"}, "keepdims = 0 : i64"});
}

TEST_CASE("The gradient for the scores is softmax less one at the label, over the labels that count") {
  OpCase test{"apc.softmax_cross_entropy_loss",
              {"= [[0.0, 0.0], [1.0, 1.0], [5.0, 7.0]] : 3x2xf64", "[1, 0, -1] : 3xi64", "none"},
              "ignore_index = -1 : i64"};
  std::vector<double> gradient = gradientsOf(test, {{4}})[0], expected = {1, -1, -1, 1, 0, 0};
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK(gradient[i] == Approx(expected[i]));
}

TEST_CASE("Gradients of the scores of a row sum to zero, whatever the weights, and are zero where a label is ignored") {
  for (const char *reduction : {"mean", "sum", "none"})
    for (const char *weights : {"none", "[1.0, 0.5, 2.0, 0.25] : 4xf64"}) {
      INFO(reduction << ", " << weights);
      OpCase test{"apc.softmax_cross_entropy_loss",
                  {"4x4xf64", "[0, 3, -1, 1] : 4xi64", weights},
                  "ignore_index = -1 : i64, reduction = \"" + std::string(reduction) + "\""};
      std::vector<double> incoming(reduction == std::string("none") ? 4 : 1, 1.5);
      std::vector<double> gradient = gradientsOf(test, {incoming})[0];
      for (size_t row = 0; row < 4; ++row) {
        double sum = 0, largest = 0;
        for (size_t at = 0; at < 4; ++at) {
          sum += gradient[4 * row + at];
          largest = std::max(largest, std::abs(gradient[4 * row + at]));
        }
        CHECK(sum == Approx(0).margin(1e-15));
        CHECK((largest == 0) == (row == 2));
      }
    }
}

TEST_CASE("The negative log likelihood reverses for every reduction") {
  for (const char *reduction : {"mean", "sum", "none"}) {
    std::string attribute = "reduction = \"" + std::string(reduction) + "\"";
    checkGradients({"apc.negative_log_likelihood_loss", {"3x4xf64", "[0, 3, 1] : 3xi64", "none"}, attribute});
    checkGradients({"apc.negative_log_likelihood_loss",
                    {"2x4x2xf64", "[[0, 3], [2, 1]] : 2x2xi64", "[1.0, 0.5, 2.0, 0.25] : 4xf64"},
                    attribute + ", ignore_index = 2 : i64"});
  }
}

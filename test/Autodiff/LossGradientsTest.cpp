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

TEST_CASE("The gradient for the scores is softmax less one at the label, over the labels that count") {
  OpCase test{"apc.softmax_cross_entropy_loss",
              {"= [[0.0, 0.0], [1.0, 1.0], [5.0, 7.0]] : 3x2xf64", "[1, 0, -1] : 3xi64", "none"},
              "ignore_index = -1 : i64"};
  std::vector<double> gradient = gradientsOf(test, {{4}})[0], expected = {1, -1, -1, 1, 0, 0};
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK(gradient[i] == Approx(expected[i]));
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

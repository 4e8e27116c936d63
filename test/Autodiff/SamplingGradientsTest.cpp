// Gradients of operators that pick points of a feature map, of columns, and of convolutions with more in them.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Convolutions with a sum and an activation reverse") {
  std::vector<std::string> operands = {"2x4x5xf64", "4x2x3xf64", "4xf64", "2x4x3xf64"};
  for (const char *activation :
       {"", "activation = \"Relu\"", "activation = \"LeakyRelu\", activation_params = array<f32: 0.3>",
        "activation = \"LeakyRelu\", activation_params = array<f32: -0.3>", "activation = \"ThresholdedRelu\"",
        "activation = \"Tanh\"", "activation = \"ScaledTanh\", activation_params = array<f32: 0.7, 1.3>",
        "activation = \"Sigmoid\"", "activation = \"HardSigmoid\"",
        "activation = \"HardSigmoid\", activation_params = array<f32: 0.3, 0.4>", "activation = \"Swish\"",
        "activation = \"Gelu\"", "activation = \"FastGelu\"", "activation = \"Elu\"", "activation = \"Selu\"",
        "activation = \"Softplus\"", "activation = \"Softsign\"",
        "activation = \"Affine\", activation_params = array<f32: 0.7, 1.3>",
        "activation = \"Clip\", activation_params = array<f32: -0.5, 1.6>"}) {
    std::string attributes = std::string(activation) + (*activation ? ", " : "") + "group = 2 : i64";
    INFO(attributes);
    checkGradients({"apc.fused_conv", operands, attributes});
  }
  checkGradients({"apc.fused_conv", {"1x2x4x4xf64", "2x2x2x2xf64", "none", "none"}, "activation = \"Softsign\""});
  CHECK(isRefused({"apc.fused_conv", {"1x1x3xf64", "1x1x2xf64", "none", "none"}, "activation = \"Mish\""}));
}

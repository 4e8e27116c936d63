// Gradients of operators that pick points of a feature map, of columns, and of convolutions with more in them.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Grids of affine maps reverse") {
  for (const char *aligned : {"0", "1"}) {
    std::string attribute = std::string("align_corners = ") + aligned + " : i64";
    checkGradients({"apc.affine_grid", {"2x2x3xf64", "[2, 5, 3, 4] : 4xi64"}, attribute});
    checkGradients({"apc.affine_grid", {"1x3x4xf64", "[1, 1, 2, 1, 3] : 5xi64"}, attribute});
  }
}

TEST_CASE("Columns go back to the windows that they were added up from") {
  checkGradients({"apc.col2im", {"2x12x9xf64", "[4, 4] : 2xi64", "[2, 2] : 2xi64"}});
  checkGradients({"apc.col2im",
                  {"1x6x9xf64", "[5, 4] : 2xi64", "[2, 3] : 2xi64"},
                  "strides = array<i64: 2, 1>, dilations = array<i64: 2, 1>, pads = array<i64: 1, 0, 2, 1>"});
  checkGradients({"apc.col2im", {"2x6x4xf64", "[5] : 1xi64", "[2] : 1xi64"}});
}

TEST_CASE("Maxima take the gradient of the place that they were put to") {
  std::string windows = "kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>";
  std::string places = "= [[[[0, 3], [9, 14]], [[17, 18], [25, 31]]]] : 1x2x2x2xi64";
  checkGradients({"apc.max_unpool", {"1x2x2x2xf64", places, "none"}, windows});
  checkGradients({"apc.max_unpool", {"1x2x2x2xf64", places, "[1, 2, 5, 6] : 4xi64"}, windows});
  checkGradients({"apc.max_unpool", {"1x2x2x2xf64", places, "[1, 1, 3, 4] : 4xi64"}, windows}); // some fall outside
  OpCase nowhere{"apc.max_unpool",
                 {"1x1x2xf64", "= [[[2, -1]]] : 1x1x2xi64", "none"},
                 "kernel_shape = array<i64: 2>, strides = array<i64: 2>"};
  checkGradients(nowhere);
  CHECK(gradientsOf(nowhere, {{1, 2, 3, 4}})[0] == std::vector<double>{3, 0});
}

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

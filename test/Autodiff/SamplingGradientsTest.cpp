// Gradients of operators that pick points of a feature map, of columns, and of convolutions with more in them.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Maps and grids reverse under every mode, padding and alignment") {
  for (const char *mode : {"linear", "cubic", "nearest"})
    for (const char *padding : {"zeros", "border", "reflection"})
      for (const char *aligned : {"0", "1"}) {
        std::string attributes = std::string("mode = \"") + mode + "\", padding_mode = \"" + padding +
                                 "\", align_corners = " + aligned + " : i64";
        INFO(attributes);
        checkGradients({"apc.grid_sample", {"2x2x3x4xf64", "2x3x2x2xf64"}, attributes});
        checkGradients({"apc.grid_sample", {"1x2x5xf64", "1x6x1xf64 in -6 6"}, attributes});
      }
  checkGradients({"apc.grid_sample", {"1x2x3x2x2xf64", "1x2x1x3x3xf64"}, "padding_mode = \"border\""});
}

// Positions are -1, -0.5, 0, 1, 2 and 0, 0.5, 1, 2.25 behind the last point; the numbers are those of grid_sample in
// PyTorch 1.13.
TEST_CASE("Points on the map's own points and on its border have the slopes that PyTorch gives them") {
  struct Known {
    const char *mode, *padding;
    bool isAligned;
    std::vector<double> ofMap, ofGrid;
  };
  const Known all[] = {
      {"linear", "zeros", false, {4, 4, 5, 9.5}, {2, 4, 18, 40, 70, -192, -224, 0, 0}},
      {"linear", "border", false, {6, 4, 5, 30}, {0, 0, 0, 40, 70, 0, 0, 0, 0}},
      {"linear", "reflection", false, {6, 6.25, 11.75, 21}, {0, 0, 0, 40, 70, 0, 0, 0, -90}},
      {"cubic", "zeros", false, {4.1875, 3.8125, 4.34375, 10.15625}, {1.5, 2.25, 18, 48, 90, -81, -270.375, -192, 0}},
      {"cubic",
       "reflection",
       false,
       {6.05859375, 5.98046875, 11.59765625, 21.36328125},
       {-4.5, 0, 13.5, 48, 90, 63, 0, -84, -97.875}},
      {"linear", "zeros", true, {4, 4, 5, 0, 9.5}, {2, 4, 18, 40, 70, -300, -350, 0, 0}},
      {"linear", "border", true, {6, 4, 5, 0, 30}, {0, 0, 0, 40, 70, 0, 0, 0, 0}},
      {"linear", "reflection", true, {4, 8.25, 11.75, 11.5, 9.5}, {-10, -12, 0, 40, 70, 0, -126, -144, -90}},
      {"cubic",
       "zeros",
       true,
       {4.1875, 3.8125, 5, -0.65625, 10.15625},
       {1.5, 2.25, 18, 48, 90, -144, -417.375, -300, 0}},
      {"cubic",
       "reflection",
       true,
       {3.87109375, 8.35546875, 12.06640625, 10.55078125, 10.15625},
       {-12, -12, 0, 48, 90, 0, -147, -192, -97.875}},
  };
  for (const Known &one : all) {
    std::string attributes = std::string("mode = \"") + one.mode + "\", padding_mode = \"" + one.padding +
                             "\", align_corners = " + (one.isAligned ? "1" : "0") + " : i64";
    INFO(attributes);
    std::vector<std::string> operands = {"= [[[1.0, 4.0, 9.0, 16.0]]] : 1x1x4xf64",
                                         "= [[[-1.25], [-1.0], [-0.75], [-0.25], [0.25], [0.75], [1.0], [1.25], "
                                         "[1.875]]] : 1x9x1xf64"};
    if (one.isAligned)
      operands = {"= [[[1.0, 4.0, 9.0, 16.0, 25.0]]] : 1x1x5xf64",
                  "= [[[-1.5], [-1.25], [-1.0], [-0.5], [0.0], [1.0], [1.25], [1.5], [2.125]]] : 1x9x1xf64"};
    auto gradients = gradientsOf({"apc.grid_sample", operands, attributes}, {{1, 2, 3, 4, 5, 6, 7, 8, 9}});
    CHECK(gradients.at(0) == one.ofMap);
    CHECK(gradients.at(1) == one.ofGrid);
  }
}

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

TEST_CASE("Maps reverse under regions that overlap, leave the map or have no points") {
  std::string boxes = "[[0.4, 0.3, 3.1, 4.2], [-2.0, 1.3, 2.2, 2.9], [1.7, 0.1, 9.0, 7.7]] : 3x4xf64";
  std::string images = "= [1, 0, 1] : 3xi64";
  for (const char *mode : {"avg", "max"})
    for (const char *more : {"", ", sampling_ratio = 2 : i64, spatial_scale = 0.75 : f32",
                             ", coordinate_transformation_mode = \"output_half_pixel\"",
                             ", sampling_ratio = 1 : i64, opset_version = 10 : i64"})
      checkGradients({"apc.roi_align",
                      {"2x2x5x4xf64", boxes, images},
                      "output_height = 2 : i64, output_width = 3 : i64, mode = \"" + std::string(mode) + "\"" + more});
  checkGradients({"apc.max_roi_pool",
                  {"2x2x5x4xf64", "[[1.0, 0.0, 0.0, 3.0, 4.0], [0.0, 1.0, 2.0, 2.0, 3.0], [1.0, 3.0, 3.0, 9.0, 9.0], "
                                  "[0.0, 8.0, 8.0, 9.0, 9.0]] : 4x5xf64"},
                  "pooled_shape = array<i64: 2, 2>, spatial_scale = 0.9 : f32"});
  OpCase ties{"apc.max_roi_pool",
              {"= [[[[1.0, 3.0, 3.0]]]] : 1x1x1x3xf64", "[[0.0, 0.0, 0.0, 2.0, 0.0]] : 1x5xf64"},
              "pooled_shape = array<i64: 1, 1>"};
  CHECK(gradientsOf(ties, {{7}})[0] == std::vector<double>{0, 7, 0});
}

TEST_CASE("Convolutions with offsets reverse in groups, with masks, strides and dilations") {
  checkGradients({"apc.deform_conv", {"2x2x3x4xf64", "3x2x2x2xf64", "2x8x2x3xf64", "none", "none"}});
  checkGradients(
      {"apc.deform_conv",
       {"1x4x4x5xf64", "6x2x2x3xf64", "1x24x3x3xf64", "6xf64", "1x12x3x3xf64"},
       "group = 2 : i64, offset_group = 2 : i64, strides = array<i64: 1, 2>, pads = array<i64: 0, 1, 0, 1>"});
  checkGradients({"apc.deform_conv",
                  {"2x4x6xf64", "2x4x3xf64", "2x6x2xf64", "2xf64", "2x6x2xf64"},
                  "offset_group = 2 : i64, dilations = array<i64: 2>"});
  checkGradients({"apc.deform_conv", {"1x2x2x3x2xf64", "2x2x1x2x2xf64", "1x12x2x2x1xf64", "none", "1x4x2x2x1xf64"}});
}

TEST_CASE("Offsets of 0 look at the map's own points, where slopes are those behind, in 16 bits too") {
  for (std::string element : {"f16", "f64"}) {
    OpCase unmoved{"apc.deform_conv",
                   {"= [[[1.0, 4.0, 9.0, 16.0, 25.0, 36.0, 49.0]]] : 1x1x7x" + element,
                    "= [[[1.0]]] : 1x1x1x" + element, "= [[[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]] : 1x1x7x" + element,
                    "none", "none"}};
    auto gradients = gradientsOf(unmoved, {{1, 2, 3, 4, 5, 6, 7}});
    CHECK(gradients.at(0) == std::vector<double>{1, 2, 3, 4, 5, 6, 7});
    CHECK(gradients.at(2) == std::vector<double>{3, 10, 21, 36, 55, 78, -343});
  }
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
  CHECK(refusalOf({"apc.fused_conv", {"1x1x3xf64", "1x1x2xf64", "none", "none"}, "activation = \"Mish\""})
            .find("attribute 'activation' is 'Mish', and Identity, Relu") == 0);
}

// Gradients of convolutions and pools.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Convolutions reverse with strides, pads, dilations and groups") {
  checkGradients({"apc.conv", {"2x2x5xf64", "3x2x3xf64", "3xf64"}});
  checkGradients({"apc.conv",
                  {"2x2x5x4xf64", "3x2x3x2xf64", "3xf64"},
                  "strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 2, 1>"});
  checkGradients({"apc.conv", {"1x4x6xf64", "4x2x2xf64", "none"}, "group = 2 : i64, dilations = array<i64: 2>"});
  checkGradients({"apc.conv",
                  {"1x3x5xf64", "6x1x3xf64", "6xf64"},
                  "group = 3 : i64, auto_pad = \"SAME_LOWER\", strides = array<i64: 2>"});
  checkGradients({"apc.conv", {"1x2x6xf64", "2x2x3xf64", "none"}, "strides = array<i64: 3>"}); // windows tile
}

TEST_CASE("Transposed convolutions reverse") {
  checkGradients({"apc.conv_transpose",
                  {"2x2x4xf64", "2x3x3xf64", "3xf64"},
                  "strides = array<i64: 2>, pads = array<i64: 1, 0>, output_padding = array<i64: 1>"});
  checkGradients(
      {"apc.conv_transpose", {"1x4x3x2xf64", "4x1x2x3xf64", "none"}, "group = 2 : i64, dilations = array<i64: 1, 2>"});
  CHECK(refusalOf({"apc.conv_transpose", {"1x1x2xf64", "1x1x2xf64", "none"}, "output_shape = array<i64: 9>"}) ==
        "a dim of its result has 9 elements, which strides, pads and kernel do not make, and shapes that they make are "
        "accepted");
}

TEST_CASE("The gradient of a maximum goes to the first of the greatest, and adds up where windows overlap") {
  checkGradients({"apc.max_pool", {"2x2x5x4xf64"}, "kernel_shape = array<i64: 2, 3>, pads = array<i64: 1, 1, 0, 1>"});
  checkGradients(
      {"apc.max_pool",
       {"1x2x7xf64"},
       "kernel_shape = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 2>, ceil_mode = 1 : i64"});
  OpCase ties{"apc.max_pool", {"= [[[1.0, 3.0, 3.0, 0.0, 3.0]]] : 1x1x5xf64"}, "kernel_shape = array<i64: 3>"};
  CHECK(gradientsOf(ties, {{1, 10, 100}})[0] == std::vector<double>{0, 11, 100, 0, 0});
  checkGradients(OpCase{"apc.global_max_pool", {"2x3x2x2xf64"}});
  OpCase whole{"apc.global_max_pool", {"= [[[2.0, 5.0, 5.0]]] : 1x1x3xf64"}};
  CHECK(gradientsOf(whole, {{7}})[0] == std::vector<double>{0, 7, 0});
}

TEST_CASE("The gradient of a mean is spread over the points that it divides by") {
  std::string window =
      "kernel_shape = array<i64: 3>, strides = array<i64: 2>, pads = array<i64: 1, 1>, ceil_mode = 1 : i64";
  checkGradients({"apc.average_pool", {"2x2x6xf64"}, window});
  checkGradients({"apc.average_pool", {"2x2x6xf64"}, window + ", count_include_pad = 1 : i64"});
  checkGradients({"apc.average_pool", {"1x2x4x6xf64"}, "kernel_shape = array<i64: 2, 3>, strides = array<i64: 2, 3>"});
  checkGradients(OpCase{"apc.global_average_pool", {"2x3x2x2xf64"}});
}

TEST_CASE("Resized maps reverse in every mode") {
  std::string scales = "[1.0, 1.0, 2.0, 1.5] : 4xf32", sizes = "[1, 2, 5, 3] : 4xi64";
  for (const char *mode : {"nearest", "linear", "cubic"}) {
    std::string attribute = "mode = \"" + std::string(mode) + "\"";
    checkGradients({"apc.resize", {"1x2x3x4xf64", "none", scales, "none"}, attribute});
    checkGradients({"apc.resize",
                    {"1x2x3x4xf64", "none", "none", sizes},
                    attribute + ", coordinate_transformation_mode = \"align_corners\""});
  }
  checkGradients({"apc.resize",
                  {"1x1x6x6xf64", "none", "none", "[1, 1, 3, 2] : 4xi64"},
                  "mode = \"linear\", antialias = 1 : i64"});
  std::string crop = "mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\"";
  std::string region = "[0.0, 0.0, 0.2, 0.1, 1.0, 1.0, 0.9, 1.2] : 8xf64";
  checkGradients({"apc.resize", {"1x2x4x4xf64", region, "none", "[1, 2, 3, 5] : 4xi64"}, crop});
  CHECK(refusalOf({"apc.resize", {"1x2x4x4xf64", "cut 8xf64 in 0 1", "none", "[1, 2, 3, 5] : 4xi64"}, crop}) ==
        "operand 'roi' is no constant, and a constant one is accepted");
}

TEST_CASE("Repeated and interpolated maps of old opsets reverse, by scales as operand or as attributes") {
  for (const char *mode : {"nearest", "linear", "bilinear"}) {
    std::string attribute = "mode = \"" + std::string(mode) + "\"";
    checkGradients({"apc.upsample", {"1x2x3x4xf64", "[1.0, 1.0, 2.0, 1.5] : 4xf32"}, attribute});
    checkGradients(
        {"apc.upsample", {"1x2x3x4xf64", "none"}, attribute + ", height_scale = 2.0 : f32, width_scale = 1.5 : f32"});
  }
}

TEST_CASE("Norms of windows reverse, of windows that overlap, leave points out or are cut short") {
  for (const char *norm : {"p = 1 : i64", "p = 2 : i64", "p = 3 : i64"}) {
    std::string p = norm;
    checkGradients({"apc.lp_pool", {"2x3x6xf64"}, p + ", kernel_shape = array<i64: 3>, pads = array<i64: 1, 0>"});
    checkGradients({"apc.lp_pool",
                    {"1x2x5x4xf64"},
                    p + ", kernel_shape = array<i64: 2, 3>, strides = array<i64: 2, 1>, dilations = array<i64: 2, 1>"});
    checkGradients({"apc.lp_pool",
                    {"1x1x6xf64"},
                    p + ", kernel_shape = array<i64: 3>, strides = array<i64: 2>, ceil_mode = 1 : i64"});
    checkGradients({"apc.global_lp_pool", {"2x3x4x2xf64"}, p});
  }
  CHECK(gradientsOf({"apc.global_lp_pool", {"= [[[0.0, 0.0]]] : 1x1x2xf64"}}, {{1}}).at(0) ==
        std::vector<double>{0, 0});
}

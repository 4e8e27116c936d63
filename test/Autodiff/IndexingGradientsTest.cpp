// Gradients of operators that pick or place elements by index.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Gathered slices are added back, duplicates and negative indices included") {
  checkGradients({"apc.gather", {"5x3xf64", "[0, -1, 0, 2] : 4xi64"}});
  checkGradients({"apc.gather", {"5x3xf64", "2x3xi64 below 5"}});
  checkGradients({"apc.gather", {"2x5x3xf64", "[[4, 1], [1, -2]] : 2x2xi64"}, "axis = 1 : i64"});
  checkGradients({"apc.gather", {"2x4xf64", "[2] : 1xi32"}, "axis = -1 : i64"});
  CHECK(gradientsOf({"apc.gather", {"3xf64", "[2, 0, -1] : 3xi64"}}, {{1, 10, 100}}).at(0) ==
        std::vector<double>{10, 0, 101});
}

TEST_CASE("Gathered elements and tuples are added back") {
  checkGradients({"apc.array_feature_extractor", {"2x3x4xf64", "[3, 0, 3] : 3xi64"}});
  checkGradients({"apc.array_feature_extractor", {"4xf64", "[[1, 3]] : 1x2xi64"}});
  checkGradients({"apc.gather_elements", {"3x4xf64", "2x4xi64 below 3"}});
  checkGradients({"apc.gather_elements", {"3x4xf64", "[[0, 0], [-1, 2], [1, 1]] : 3x2xi64"}, "axis = 1 : i64"});
  checkGradients({"apc.gather_nd", {"3x4x2xf64", "[[0, 1], [-1, 1], [0, 1]] : 3x2xi64"}});
  checkGradients({"apc.gather_nd", {"3x4xf64", "[[1], [1]] : 2x1xi64"}});
  checkGradients({"apc.gather_nd", {"2x3x4xf64", "2x5x1xi64 below 3"}, "batch_dims = 1 : i64"});
}

TEST_CASE("Scattered updates get what arrives at their places") {
  for (const char *reduction : {"reduction = \"none\"", "reduction = \"add\""}) {
    checkGradients({"apc.scatter_elements", {"4x3xf64", "[[1, 0, 3], [-2, 2, 0]] : 2x3xi64", "2x3xf64"}, reduction});
    checkGradients({"apc.scatter_nd", {"4x3xf64", "[[2], [-4]] : 2x1xi64", "2x3xf64"}, reduction});
  }
  checkGradients(
      {"apc.scatter_elements", {"2x4xf64", "[[1, 1, 0]] : 1x3xi64", "1x3xf64"}, "axis = 1 : i64, reduction = \"add\""});
  checkGradients({"apc.scatter_nd", {"4x3xf64", "[[2, 1], [2, 1]] : 2x2xi64", "2xf64"}, "reduction = \"add\""});
}

TEST_CASE("Scattered factors and extrema reverse, at places that several updates share too") {
  for (const char *reduction : {"reduction = \"mul\"", "reduction = \"max\"", "reduction = \"min\""}) {
    checkGradients({"apc.scatter_elements", {"4x3xf64", "[[1, 0, 3], [-2, 2, 3]] : 2x3xi64", "2x3xf64"}, reduction});
    checkGradients({"apc.scatter_nd", {"4x3xf64", "[[2], [-2]] : 2x1xi64", "2x3xf64"}, reduction});
    std::string along = std::string("axis = 1 : i64, ") + reduction;
    checkGradients({"apc.scatter_elements", {"2x4xf64", "[[1, 1, 0]] : 1x3xi64", "1x3xf64"}, along});
  }
  // Products with one zero and with two at a place.
  checkGradients({"apc.scatter_elements",
                  {"= [2.0, -3.0, 0.5] : 3xf64", "[0, 0, 1, 1, 2] : 5xi64", "= [0.0, 1.5, 0.0, 0.0, 0.0] : 5xf64"},
                  "reduction = \"mul\""});
}

// PyTorch's scatter_reduce with include_self: [1, 5, 2] and updates 4, 4 at 0 and 5 at 1.
TEST_CASE("Equal extrema at a place share what arrives, that of the data among them") {
  auto gradients = gradientsOf({"apc.scatter_elements",
                                {"= [1.0, 5.0, 2.0] : 3xf64", "[0, 0, 1] : 3xi64", "= [4.0, 4.0, 5.0] : 3xf64"},
                                "reduction = \"max\""},
                               {{10, 6, 1}});
  CHECK(gradients.at(0) == std::vector<double>{0, 3, 1});
  CHECK(gradients.at(1) == std::vector<double>{5, 5, 3});
}

TEST_CASE("A cache keeps the gradients of entries that stay, and updates get those of their places") {
  checkGradients({"apc.tensor_scatter", {"2x3x5x4xf64", "2x3x2x4xf64", "[3, 1] : 2xi64"}});
  checkGradients({"apc.tensor_scatter", {"2x3x5xf64", "2x3x5xf64", "none"}, "axis = 2 : i64"});
  checkGradients({"apc.tensor_scatter", {"2x5x4xf64", "2x2x4xf64", "none"}, "axis = 1 : i64"});
  checkGradients(
      {"apc.tensor_scatter", {"2x4x3xf64", "2x2x3xf64", "[3, 6] : 2xi64"}, "axis = 1 : i64, mode = \"circular\""});
}

TEST_CASE("Triangles and selected slices reverse") {
  checkGradients({"apc.trilu", {"2x3x4xf64", "none"}});
  checkGradients({"apc.trilu", {"3x4xf64", "[-1] : 1xi64"}, "upper = 0 : i64"});
  checkGradients({"apc.compress", {"3x4xf64", "[true, false, true] : 3xi1"}, "axis = 0 : i64"});
  checkGradients({"apc.compress", {"2x3xf64", "[false, true, true, false, true] : 5xi1"}});
}

TEST_CASE("One-hot vectors have no gradient") {
  checkGradients({"apc.one_hot", {"[0, 2] : 2xi64", "[3] : 1xi64", "cut 2xf64"}});
}

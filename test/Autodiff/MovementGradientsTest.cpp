// Gradients of operators that move elements.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Views give the gradient back in the operand's shape") {
  checkGradients({"apc.reshape", {"2x6xf64", "[3, -1] : 2xi64"}});
  checkGradients({"apc.flatten", {"2x3x2xf64"}, "axis = 2 : i64"});
  checkGradients({"apc.squeeze", {"2x1x3x1xf64", "[1] : 1xi64"}});
  checkGradients({"apc.squeeze", {"2x1x3x1xf64", "none"}});
  checkGradients({"apc.unsqueeze", {"2x3xf64", "[0, 2] : 2xi64"}});
  checkGradients({"apc.identity", {"2x3xf64"}});
}

TEST_CASE("Transposed, broadcast and repeated elements come back") {
  checkGradients({"apc.transpose", {"2x3x4xf64"}, "perm = array<i64: 1, 2, 0>"});
  checkGradients({"apc.transpose", {"2x3x4xf64"}});
  checkGradients({"apc.expand", {"3x1xf64", "[2, 3, 4] : 3xi64"}});
  checkGradients({"apc.expand", {"3x4xf64", "[1, 1] : 2xi64"}});
  checkGradients({"apc.tile", {"2x3xf64", "[2, 3] : 2xi64"}});
  checkGradients({"apc.tile", {"2x1x3xf64", "[1, 4, 1] : 3xi64"}});
  checkGradients({"apc.tile", {"2x3xf64", "[1, 1] : 2xi64"}});
}

TEST_CASE("Joined parts get their parts back") {
  checkGradients({"apc.concat", {"2x3xf64", "2x1xf64", "2x2xf64"}, "axis = 1 : i64"});
  checkGradients({"apc.concat", {"2x3xf64", "[[1.0, 2.0, 3.0]] : 1x3xf64", "1x3xf64"}, "axis = -2 : i64"});
}

TEST_CASE("Split parts are joined, with zeros for parts that nothing reads") {
  checkGradients({"apc.split", {"2x6xf64", "[1, 3, 2] : 3xi64"}, "axis = 1 : i64", 3});
  checkGradients({"apc.split", {"5x2xf64", "none"}, "num_outputs = 2 : i64", 2});
  CHECK(gradientsOf({"apc.split", {"5xf64", "[2, 1, 2] : 3xi64"}, "", 3}, {{1, 2}, {}, {4, 5}}).at(0) ==
        std::vector<double>{1, 2, 0, 4, 5});
}

TEST_CASE("Slices of any step are put back where they were") {
  checkGradients({"apc.slice", {"5x4xf64", "[1, 1] : 2xi64", "[3, 4] : 2xi64", "none", "none"}});
  checkGradients({"apc.slice", {"7x3xf64", "[1] : 1xi64", "[6] : 1xi64", "[0] : 1xi64", "[2] : 1xi64"}});
  checkGradients({"apc.slice", {"3x6xf64", "[-1] : 1xi64", "[-10] : 1xi64", "[1] : 1xi64", "[-2] : 1xi64"}});
  checkGradients({"apc.slice", {"5x6xf64", "[4, 1] : 2xi64", "[0, 4] : 2xi64", "[0, 1] : 2xi64", "[-1, 1] : 2xi64"}});
  CHECK(gradientsOf({"apc.slice", {"5xf64", "[1] : 1xi64", "[3] : 1xi64", "none", "none"}}, {{7, 8}}).at(0) ==
        std::vector<double>{0, 7, 8, 0, 0});
}

TEST_CASE("Pads are cropped or folded back") {
  checkGradients({"apc.pad", {"2x3xf64", "[1, 0, 0, 2] : 4xi64", "none", "none"}});
  checkGradients({"apc.pad", {"2x3xf64", "[1, -1, 0, 2] : 4xi64", "f64", "none"}});
  checkGradients({"apc.pad", {"2x4xf64", "[2, 3] : 2xi64", "none", "[1] : 1xi64"}, "mode = \"reflect\""});
  checkGradients({"apc.pad", {"3x4xf64", "[1, 1, 2, 2] : 4xi64", "none", "none"}, "mode = \"edge\""});
  checkGradients({"apc.pad", {"2x3xf64", "[2, 2] : 2xi64", "none", "[1] : 1xi64"}, "mode = \"wrap\""});
  checkGradients({"apc.pad", {"2x4xf64", "[-1, 2] : 2xi64", "none", "[1] : 1xi64"}, "mode = \"edge\""});
  checkGradients({"apc.center_crop_pad", {"2x5xf64", "[5, 2] : 2xi64"}});
  checkGradients({"apc.center_crop_pad", {"2x4xf64", "[3] : 1xi64"}, "axes = array<i64: 1>"});
}

TEST_CASE("Blocks between depth and space go back") {
  checkGradients({"apc.depth_to_space", {"1x8x2x3xf64"}, "blocksize = 2 : i64"});
  checkGradients({"apc.depth_to_space", {"1x8x2x3xf64"}, "blocksize = 2 : i64, mode = \"CRD\""});
  checkGradients({"apc.space_to_depth", {"1x2x4x6xf64"}, "blocksize = 2 : i64"});
  checkGradients({"apc.reverse_sequence", {"4x3x2xf64", "[2, 4, 1] : 3xi64"}});
}

TEST_CASE("Results that follow from a type alone have no gradient") {
  checkGradients({"apc.eye_like", {"3x4xf64"}});
  checkGradients({"apc.shape", {"3x4xf64"}});
}

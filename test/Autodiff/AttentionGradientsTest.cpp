// Gradients of attention and of rotations.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Attention reverses for queries, keys and values, with fewer key heads and keys stored either way") {
  checkGradients({"apc.softmax_attention", {"2x3x4xf64", "2x5x4xf64", "2x5x3xf64", "none"}, "scale = 0.5 : f32"});
  checkGradients({"apc.softmax_attention", {"2x4x3x2xf64", "2x2x5x2xf64", "2x2x5x3xf64", "none"}});
  checkGradients({"apc.softmax_attention",
                  {"4x3x2xf64", "2x2x5xf64", "2x5x3xf64", "none"},
                  "keys_transposed = 1 : i64, scale = 0.25 : f32"});
}

TEST_CASE("Masked scores have no gradient, added masks do not change it") {
  std::string seen = "[[true, false, false], [true, true, false]] : 2x3xi1";
  checkGradients({"apc.softmax_attention", {"2x2x4xf64", "2x3x4xf64", "2x3x3xf64", seen}, "fill = -1.0 : f32"});
  checkGradients(
      {"apc.softmax_attention", {"2x2x4xf64", "2x3x4xf64", "2x3x3xf64", seen}, "fill = -1.0e30 : f32, seen = 0 : i64"});
  checkGradients(
      {"apc.softmax_attention", {"2x2x4xf64", "2x3x4xf64", "2x3x3xf64", "[[0.0, -1.0, -1.0e30]] : 1x3xf64"}});
}

TEST_CASE("Masks that are added are trained, summed over the scores that an element is added to") {
  checkGradients({"apc.softmax_attention", {"2x2x4xf64", "2x3x4xf64", "2x3x3xf64", "2x3xf64"}, "scale = 0.5 : f32"});
  checkGradients({"apc.softmax_attention", {"2x4x3x2xf64", "2x2x5x2xf64", "2x2x5x3xf64", "1x4x3x5xf64"}});
  checkGradients({"apc.softmax_attention",
                  {"2x4x3x2xf64", "2x2x2x5xf64", "2x2x5x3xf64", "4x1x5xf64"},
                  "keys_transposed = 1 : i64"});
}

TEST_CASE("A query that sees no key gives no gradient where its weights count as zero") {
  OpCase test{"apc.softmax_attention",
              {"1x1x2xf64", "1x2x2xf64", "1x2x1xf64", "[[0xFFF0000000000000, 0xFFF0000000000000]] : 1x2xf64"},
              "nan_is_zero = 1 : i64"};
  for (const std::vector<double> &gradient : gradientsOf(test, {{1}}))
    for (double value : gradient)
      CHECK(value == 0);
}

TEST_CASE("Rotations reverse by the opposite angle, of odd sizes too") {
  checkGradients({"apc.rotate_half", {"2x3x4xf64", "cut 3x4xf64", "cut 3x4xf64"}});
  checkGradients({"apc.rotate_half", {"3x5xf64", "cut 5xf64", "cut 3x5xf64"}});
  for (const char *interleaved : {"", "interleaved = 1 : i64"}) {
    std::string more = *interleaved ? ", " + std::string(interleaved) : "";
    checkGradients(
        {"apc.rotary_embedding", {"1x2x3x4xf64", "cut 5x2xf64", "cut 5x2xf64", "[[0, 4, 2]] : 1x3xi64"}, interleaved});
    checkGradients({"apc.rotary_embedding",
                    {"1x3x12xf64", "cut 1x3x2xf64", "cut 1x3x2xf64", "none"},
                    "num_heads = 3 : i64" + more});
    checkGradients(
        {"apc.ms_rotary_embedding", {"1x2x3x4xf64", "[1] : 1xi64", "cut 5x2xf64", "cut 5x2xf64"}, interleaved});
  }
}

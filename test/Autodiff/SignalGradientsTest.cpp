// Gradients of Fourier transforms and determinants.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Fourier transforms reverse, of real and complex points, cut and padded to other lengths") {
  for (const char *direction : {"", "inverse = 1 : i64"})
    for (const char *parts : {"1", "2"})
      for (const char *length : {"none", "[4] : 1xi64", "[7] : 1xi64"}) {
        std::string points = std::string("2x5x") + parts + "xf64";
        checkGradients({"apc.dft", {points, length, "[1] : 1xi64"}, direction});
        checkGradients({"apc.dft", {points, length, "none"}, direction});
      }
  checkGradients({"apc.dft", {"3x2x2x1xf64", "none", "[0] : 1xi64"}});
  checkGradients({"apc.dft", {"2x1x2xf64", "none", "none"}, "opset_version = 17 : i64"});
}

TEST_CASE("Halves of spectra reverse, of even and odd lengths") {
  for (const char *length : {"none", "[4] : 1xi64", "[5] : 1xi64", "[8] : 1xi64"}) {
    checkGradients({"apc.dft", {"2x6x1xf64", length, "[1] : 1xi64"}, "onesided = 1 : i64"});
    checkGradients({"apc.dft", {"2x5x3x1xf64", length, "[1] : 1xi64"}, "onesided = 1 : i64"});
    // Backwards the mirror image counts, but for the first point and the middle one.
    for (const char *half : {"2x4x1xf64", "2x4x2xf64", "2x3x2x2xf64"})
      checkGradients({"apc.dft", {half, length, "[1] : 1xi64"}, "inverse = 1 : i64, onesided = 1 : i64"});
  }
}

TEST_CASE("The gradient of the sum of the points that a transform gives is that of the first point") {
  std::vector<double> sums = {1, 0, 1, 0, 1, 0, 1, 0};
  std::vector<std::vector<double>> gradients = gradientsOf({"apc.dft", {"1x4x1xf64", "none", "none"}}, {sums});
  REQUIRE(gradients.size() == 1);
  REQUIRE(gradients[0].size() == 4);
  CHECK(gradients[0][0] == Approx(4));
  for (size_t point = 1; point < 4; ++point)
    CHECK(gradients[0][point] == Approx(0).margin(1e-12));
}

TEST_CASE("Frames of a signal reverse, overlapping and apart, for the signal and the window") {
  for (const char *onesided : {"onesided = 0 : i64", "onesided = 1 : i64"}) {
    for (const char *signal : {"2x9xf64", "2x9x1xf64", "2x9x2xf64"}) {
      checkGradients({"apc.stft", {signal, "[2] : 1xi64", "4xf64", "none"}, onesided});
      checkGradients({"apc.stft", {signal, "[4] : 1xi64", "none", "[3] : 1xi64"}, onesided});
      checkGradients({"apc.stft", {signal, "[3] : 1xi64", "3xf64", "[5] : 1xi64"}, onesided});
    }
    checkGradients({"apc.stft", {"1x6xf64", "[1] : 1xi64", "6xf64", "[4] : 1xi64"}, onesided});
  }
}

TEST_CASE("Determinants reverse, of singular matrices too") {
  checkGradients({"apc.det", {"3x3xf64"}});
  checkGradients({"apc.det", {"2x3x4x4xf64"}});
  checkGradients({"apc.det", {"2x1x1xf64"}});
  checkGradients({"apc.det", {"= [[0.0, 2.0], [0.0, 3.0]] : 2x2xf64"}});
  checkGradients({"apc.det", {"= [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, -1.0, 2.0]] : 3x3xf64"}});
  checkGradients({"apc.det", {"= [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]] : 3x3xf64"}});
}

TEST_CASE("The cofactors of an integer matrix are exact") {
  std::vector<std::vector<double>> gradients =
      gradientsOf({"apc.det", {"= [[2.0, 0.0, 1.0], [1.0, 3.0, 2.0], [1.0, 1.0, 4.0]] : 3x3xf64"}}, {{1}});
  REQUIRE(gradients.size() == 1);
  const std::vector<double> expected = {10, -2, -2, 1, 7, -2, -3, -3, 6};
  REQUIRE(gradients[0].size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK(gradients[0][i] == Approx(expected[i]).margin(1e-12));
}

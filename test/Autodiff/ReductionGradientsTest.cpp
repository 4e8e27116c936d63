// Gradients of reductions and other walks along a dim.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

const std::vector<std::string> reductions = {"sum", "mean", "prod",       "max",        "min",
                                             "l1",  "l2",   "sum_square", "log_sum_exp"};

} // namespace

TEST_CASE("Reductions reverse over some dims and all, kept and dropped") {
  for (const std::string &kind : reductions) {
    std::string op = "apc.reduce_" + kind;
    checkGradients({op, {"2x3x4xf64", "[1] : 1xi64"}});
    checkGradients({op, {"2x3x4xf64", "[0, -1] : 2xi64"}, "keepdims = 0 : i64"});
    checkGradients({op, {"3x4xf64", "none"}, "keepdims = 0 : i64"});
    checkGradients({op, {"3x4xf64", "none"}});
    checkGradients({op, {"2x3xf64 in 0.6 2", "none"}, "noop_with_empty_axes = 1 : i64"});
  }
  checkGradients({"apc.reduce_log_sum", {"2x3xf64 in 0.6 2", "[1] : 1xi64"}});
  checkGradients({"apc.reduce_log_sum", {"2x3xf64 in 0.6 2", "[0] : 1xi64"}, "keepdims = 0 : i64"});
}

TEST_CASE("Elements that tie for an extremum share its gradient") {
  CHECK(gradientsOf({"apc.reduce_max", {"= [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]] : 2x3xf64", "[1] : 1xi64"}}, {{6, 9}})
            .at(0) == std::vector<double>{0, 3, 3, 3, 3, 3});
  CHECK(gradientsOf({"apc.reduce_min", {"= [1.0, 1.0, 3.0] : 3xf64", "none"}, "keepdims = 0 : i64"}, {{6}}).at(0) ==
        std::vector<double>{3, 3, 0});
}

TEST_CASE("Products with zeros have exact gradients") {
  CHECK(gradientsOf(
            {"apc.reduce_prod", {"= [[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [2.0, 3.0, 4.0]] : 3x3xf64", "[1] : 1xi64"}},
            {{1, 1, 10}})
            .at(0) == std::vector<double>{0, 6, 0, 0, 0, 0, 120, 80, 60});
}

TEST_CASE("Norms have no slope at 0") {
  CHECK(gradientsOf({"apc.reduce_l2", {"= [[0.0, 0.0], [3.0, 4.0]] : 2x2xf64", "[1] : 1xi64"}}, {{1, 5}}).at(0) ==
        std::vector<double>{0, 0, 3, 4});
  CHECK(gradientsOf({"apc.reduce_l1", {"= [0.0, -3.0] : 2xf64", "[0] : 1xi64"}}, {{2}}).at(0) ==
        std::vector<double>{0, -2});
}

TEST_CASE("Running sums reverse in either direction") {
  for (const char *attributes :
       {"", "reverse = 1 : i64", "exclusive = 1 : i64", "exclusive = 1 : i64, reverse = 1 : i64"})
    checkGradients({"apc.cum_sum", {"2x4xf64", "[1] : 1xi64"}, attributes});
}

TEST_CASE("Running products reverse, past zeros too") {
  for (const char *attributes :
       {"", "exclusive = 1 : i64", "reverse = 1 : i64", "exclusive = 1 : i64, reverse = 1 : i64"}) {
    checkGradients({"apc.cum_prod", {"2x4xf64", "[1] : 1xi64"}, attributes});
    checkGradients({"apc.cum_prod", {"3x2xf64", "[0] : 1xi32"}, attributes});
    checkGradients({"apc.cum_prod", {"= [1.5, 0.0, -2.0, 0.5] : 4xf64", "[0] : 1xi64"}, attributes});
    checkGradients({"apc.cum_prod", {"= [1.5, 0.0, -2.0, 0.0, 3.0] : 5xf64", "[0] : 1xi64"}, attributes});
  }
}

TEST_CASE("TopK gives the gradient to the elements that it took") {
  checkGradients({"apc.top_k", {"3x5xf64", "[2] : 1xi64"}, "", 2});
  checkGradients({"apc.top_k", {"3x5xf64", "[2] : 1xi64"}, "axis = 0 : i64, largest = 0 : i64", 2});
}

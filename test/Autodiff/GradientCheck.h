// Gradients of ops held against central differences, and run on ranks.
#pragma once

#include "apc/IR/Apc.h"

#include <string>
#include <vector>

namespace apc {

/// One op under test. Result types are inferred. Operands are text:
///
///   none                         absent
///   [0, -1, 2] : 3xi64           a constant
///   3x4xf64                      an input, drawn from [-2, 2] away from multiples of 0.5, all elements distinct
///   3x4xf64 in 0.5 3             an input drawn from [0.5, 3]
///   3xi64 below 5                an input drawn from 0, 1, ... 4
///   = [0, -1] : 2xi64            an input of these values
///   cut 3x4xf64                  an input to which no gradient flows by convention, though the result changes with it
///
///   {"apc.gather", {"5x3xf64", "[0, -1, 0] : 3xi64"}, "axis = 0 : i64"}
struct OpCase {
  std::string op;
  std::vector<std::string> operands;
  std::string attributes = {};
  unsigned numResults = 1; ///< declared results behind these are absent
};

/// The gradients of all float inputs are those of central differences of a weighted sum of the results (step
/// 1e-6 max(1, |x|), relative error 1e-6); inputs without a gradient have no effect, unless they are cut. The gradients
/// are linear in what arrives at the results, each result alone and all together. On [2, 2] ranks they are the same,
/// each op of the gradient under every legal strategy.
void checkGradients(const OpCase &test);
/// The same for all inputs of `main` of a module's text. An argument may say how it is drawn in the attribute
/// `test.input`: "in 0.5 3", "below 5", "= [0, -1] : 2xi64", "cut".
void checkGradients(const char *text);

/// The gradients of the float inputs (empty for none), where `incoming` arrives at the results of floats in turn: an
/// empty list where nothing does.
std::vector<std::vector<double>> gradientsOf(const OpCase &test, std::vector<std::vector<double>> incoming);

/// Does the op let no gradient be built for any of its inputs?
bool isRefused(const OpCase &test);
/// The reason that it gives for that; empty where it is not refused, or for no reason.
std::string refusalOf(const OpCase &test);

/// Numbers are the expected ones, those near zero up to `margin`.
void checkClose(const std::vector<double> &found, const std::vector<double> &expected, double margin = 1e-12);

} // namespace apc

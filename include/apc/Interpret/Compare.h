// Holds what a run gives against what is expected of it.
#pragma once

#include "apc/IR/Kernels/Tensor.h"

#include <optional>
#include <string>

namespace apc {

/// How far floats may be apart: |got - expected| <= absolute + relative * |expected|. Integers and bools are equal or
/// not; NaN equals NaN, an infinity itself.
struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};

/// The largest magnitude of a finite element; 0 when there is none.
double largestMagnitude(const Tensor &tensor);

/// ONNX's tolerances, those above, for what `numOps` ops, one after the other, are expected to give; as to the absolute
/// part at least one unit in the last place (f32: 2^-23) of the largest element, which cancellation leaves behind,
/// times the root of `numOps`: roundings add up as a random walk does (Higham, Accuracy and Stability of Numerical
/// Algorithms, 2002, section 2.8). f16 and bf16, where a rounding between two
/// ops is as much, get four units (f16: 2^-8, bf16: 2^-5) as the relative part, and one as the absolute part near 1.
Tolerance onnxTolerance(const Tensor &expected, unsigned numOps = 1);

/// The first difference in words, "element [1, 2] is 0.5, expected 0.25 (3 of 6 differ)", or "is [2] f32, expected [3]
/// f32"; empty when there is none. Floats may always be 2^-23 of the largest one expected apart.
std::optional<std::string> findDifference(const Tensor &got, const Tensor &expected, Tolerance tolerance);

} // namespace apc

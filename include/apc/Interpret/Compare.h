// Holds what a run gives against what is expected of it.
#pragma once

#include "apc/IR/Tensor.h"

#include <optional>
#include <string>

namespace apc {

/// How far floats may be apart: |got - expected| <= absolute + relative * |expected|. Integers and bools are equal or
/// not; NaN equals NaN, an infinity itself.
struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};

/// ONNX's tolerances for an element type: those above. f16 and bf16, where a rounding between two ops is as much, get
/// four units in the last place: f16 2^-8, bf16 2^-5, as relative to 1 for values near 0.
Tolerance onnxTolerance(mlir::Type element);

/// The first difference in words, "element [1, 2] is 0.5, expected 0.25 (3 of 6 differ)", or "is [2] f32, expected [3]
/// f32"; empty when there is none. Floats may always be 2^-23 of the largest one expected apart.
std::optional<std::string> findDifference(const Tensor &got, const Tensor &expected, Tolerance tolerance);

} // namespace apc

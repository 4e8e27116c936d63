// The results of a run compared with those that are expected.
#pragma once

#include "apc/IR/Kernels/Tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

/// The distance that floats may have: |got - expected| <= absolute + relative * |expected|. Integers and bools are
/// equal or not; NaN equals NaN, an infinity itself.
struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};

/// The largest magnitude of a finite element; 0 when there is none.
double largestMagnitude(const Tensor &tensor);

/// ONNX's tolerances, the defaults above, for a result of `numOps` ops, one after the other. The absolute part is at
/// least one unit in the last place (f32: 2^-23) of the largest element, which cancellation leaves behind, times the
/// root of `numOps`: roundings add up as a random walk does (Higham, Accuracy and Stability of Numerical Algorithms,
/// 2002, section 2.8). f16 and bf16, where a rounding between two ops is as much, get four units (f16: 2^-8, bf16:
/// 2^-5) as the relative part, and one as the absolute part near 1.
Tolerance onnxTolerance(const Tensor &expected, unsigned numOps = 1);

/// The comparison of two tensors, element by element.
struct TensorDifference {
  bool isSameType = true; ///< dims and element type; if not, the rest is not computed
  double largest = 0;     ///< magnitude of the finite elements expected
  double absolute = 0;    ///< largest distance of two elements; infinite where one of them alone is no number
  int64_t count = 0;      ///< elements outside the tolerance
  int64_t first = 0;      ///< the first of them, by its row-major position
};
TensorDifference compare(const Tensor &got, const Tensor &expected, Tolerance tolerance);

/// The first difference in words, "element [1, 2] is 0.5, expected 0.25 (3 of 6 differ)", or "is [2] f32, expected [3]
/// f32"; empty when there is none. The distance of floats may always be 2^-23 of the largest magnitude expected.
std::optional<std::string> findDifference(const Tensor &got, const Tensor &expected, Tolerance tolerance);

/// The distance of an output of a program from that of the model.
struct OutputError {
  std::string name;
  double largest = 0;  ///< magnitude of the model's output, or of the terms that it is made of
  double absolute = 0; ///< largest difference of two elements; infinite where one of them alone is no number
  double relative = 0; ///< `absolute` / `largest`; 0 where both are 0
  double accepted = 0; ///< of `relative`
  bool agrees() const { return relative <= accepted; }
};

/// The relative error that roundings to an element type leave: f64 1e-9, f32 1e-4, f16 2e-2, others 1e-1; integers 0.
double acceptedError(mlir::Type element);

/// Compares output by output; the error accepted is that of the output's element type. Both lists are in the order of
/// the names.
std::vector<OutputError> outputErrors(llvm::ArrayRef<std::string> names, llvm::ArrayRef<Tensor> found,
                                      llvm::ArrayRef<Tensor> expected);

} // namespace apc

// Points of a feature map mixed from their neighbours, dim by dim.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace apc {

/// One point of one dim and its share in the mixture.
struct Tap {
  int64_t index = 0;
  double weight = 1;
  double slope = 0; ///< of the weight over the place at which is mixed, where that is asked for
};
/// The points of one dim that take part; points outside of the dim are left out.
using Taps = llvm::SmallVector<Tap, 4>;

/// The sum over all combinations of one tap for each dim: plane [2, 2] of 1 2 3 4, taps {0: 0.5, 1: 0.5} and {1: 1}
/// give 0.5 * 2 + 0.5 * 4 = 3.
double mix(const double *plane, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<Taps> taps);

/// The way back: adds `value` times its weight to the points of each combination.
void spread(double *plane, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<Taps> taps, double value);

/// The two neighbours of `at` that are inside [0, size), weighted by nearness; none for NaN.
Taps linearTaps(double at, int64_t size);
/// The share of a point at `distance` in a cubic convolution: 1 at 0, 0 at 1, 2 and beyond. `a` is its slope at 1.
/// Source: R. Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981, equation 15.
double cubicWeight(double distance, double a);
/// The derivative of that share over the distance.
double cubicSlope(double distance, double a);

} // namespace apc

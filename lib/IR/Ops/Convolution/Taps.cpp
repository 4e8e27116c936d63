// Mixing the neighbours of a point.
#include "Taps.h"

#include <cmath>

namespace apc {

/// The number of points from one index of the first dim to the next.
static int64_t strideOf(llvm::ArrayRef<int64_t> dims) {
  int64_t stride = 1;
  for (int64_t size : dims.drop_front())
    stride *= size;
  return stride;
}

double mix(const double *plane, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<Taps> taps) {
  if (dims.empty())
    return *plane;
  int64_t stride = strideOf(dims);
  double sum = 0;
  for (const Tap &tap : taps.front())
    sum += tap.weight * mix(plane + tap.index * stride, dims.drop_front(), taps.drop_front());
  return sum;
}

void spread(double *plane, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<Taps> taps, double value) {
  if (dims.empty()) {
    *plane += value;
    return;
  }
  int64_t stride = strideOf(dims);
  for (const Tap &tap : taps.front())
    spread(plane + tap.index * stride, dims.drop_front(), taps.drop_front(), value * tap.weight);
}

Taps linearTaps(double at, int64_t size) {
  Taps taps;
  if (!(at > -1 && at < static_cast<double>(size)))
    return taps;
  double below = std::floor(at), share = at - below;
  auto index = static_cast<int64_t>(below);
  if (index >= 0)
    taps.push_back({index, 1 - share});
  if (index + 1 < size)
    taps.push_back({index + 1, share});
  return taps;
}

double cubicWeight(double distance, double a) {
  double x = std::fabs(distance);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

double cubicSlope(double distance, double a) {
  double x = std::fabs(distance), sign = distance < 0 ? -1 : 1;
  if (x <= 1)
    return sign * (3 * (a + 2) * x - 2 * (a + 3)) * x;
  return x < 2 ? sign * ((3 * a * x - 10 * a) * x + 8 * a) : 0;
}

} // namespace apc

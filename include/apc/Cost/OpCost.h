// The cost of one op on one device: a roofline whose roofs depend on the op's local shape.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Sharding/FactorRule.h"

#include <algorithm>
#include <array>

namespace apc {

/// The cost of one op on one device (roofline): max(compute, memory) + launch. All zero for views.
struct OpCost {
  double computeSeconds = 0; ///< local flops / (peak * efficiency)
  double memorySeconds = 0;  ///< local bytes / (bandwidth * efficiency)
  double launchSeconds = 0;
  double flops = 0;  ///< on one device, padding included
  int64_t bytes = 0; ///< read and written on one device

  double seconds() const { return std::max(computeSeconds, memorySeconds) + launchSeconds; }
};

/// A contraction as `batch` matrix products m x k . k x n. Factors of both first operands and the result are batch, of
/// the first and the result m, of the others and the result n, those that no result has k. Conv `n c !y !x, o c !r !s
/// -> n o ..`: m = n y x, n = o, k = c r s.
struct ContractionShape {
  double batch = 1, m = 1, n = 1, k = 1;
};

/// `localSizes` is the size of each factor on one device.
ContractionShape contractionShape(const FactorRule &rule, llvm::ArrayRef<int64_t> localSizes);

/// The share of the matrix units' work that a shape makes use of, in (0, 1]:
///   fill(m, 64) * fill(n, 64) * fill(k, 16) * k / (k + 32) * alignment
/// with fill(x, t) = x / (t * ceil(x / t)) (whole tiles are computed), 32 more steps of k to start and drain a tile,
/// and alignment 0.7 where n or k is no multiple of 8. 4096^3: 0.992; m = 1: 1/64 of that; 4096 x 10922 x 4096: 0.69.
double shapeEfficiency(const ContractionShape &shape);

/// The rates of a device by number format, looked up once.
class DeviceRates {
public:
  explicit DeviceRates(const Device &device);

  /// A format that the device does not have runs as the next wider one that it has: bf16 as f16, f4 as f8, i8 as f16;
  /// f32 as tf32 where `tf32ForF32`; without matrix units for it, on the vector units.
  double matrixFlopsPerSecond(NumberFormat format) const { return matrix[static_cast<size_t>(format)]; }
  double vectorFlopsPerSecond(NumberFormat format) const { return vector[static_cast<size_t>(format)]; }

private:
  std::array<double, 10> matrix{}, vector{};
};

/// The cost of a rule with `localSizes` per factor on `device`. A contraction runs at
/// peak * contractionEfficiency(flops) * shapeEfficiency(shape) on the matrix units, or on the vector units where
/// they are faster; other ops on the vector units. A sparse operand costs as many bytes as the first result.
OpCost opCost(const FactorRule &rule, llvm::ArrayRef<int64_t> localSizes, NumberFormat format, const Device &device,
              const DeviceRates &rates);

} // namespace apc

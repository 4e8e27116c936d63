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
  double flops = 0;           ///< on one device, padding included
  int64_t bytes = 0;          ///< read and written on one device
  double dispatchSeconds = 0; ///< of the host, beside the device

  double seconds() const { return std::max(computeSeconds, memorySeconds) + launchSeconds; }
  /// Of `count` runs.
  OpCost times(int64_t count) const {
    double runs = static_cast<double>(count);
    return {computeSeconds * runs, memorySeconds * runs, launchSeconds * runs,
            flops * runs,          bytes * count,        dispatchSeconds * runs};
  }
};

/// A contraction as `batch` matrix products m x k . k x n. Factors of both first operands and the result are batch, of
/// the first and the result m, of the others and the result n, those that no result has k. Rows and columns of an
/// image, which only the result of a convolution has, are rows of its implicit product: Conv `n c !h !w, o c !r !s -> n
/// o !y !x` has m = n y x, n = o, k = c r s. A bias, or a sum that joins the result, changes nothing.
struct ContractionShape {
  double batch = 1, m = 1, n = 1, k = 1;
};

/// `localSizes` is the size of each factor on one device.
ContractionShape contractionShape(const FactorRule &rule, llvm::ArrayRef<int64_t> localSizes);

/// The share of the computed points that a shape needs, in (0, 1]: fill(m, 64) * fill(n, 64) * fill(k, 16) with
/// fill(x, t) = x / (t * ceil(x / t)), for whole tiles are computed. 4096^3: 1; m = 1: 1/64.
double tileFill(const ContractionShape &shape);
/// The speed of whole tiles, in (0, 1]: k / (k + 32), for it takes 32 more steps of k to start and drain a tile, and
/// 0.7 of that where n or k is no multiple of 8. 4096^3: 0.992; 4096 x 10922 x 4096: 0.69. k in whole tiles.
double tileEfficiency(const ContractionShape &shape);

/// The rates of a device by number format, looked up once: of the slowest one, for which all others wait.
class DeviceRates {
public:
  explicit DeviceRates(const Device &device, const Runtime &runtime = {});

  /// A format that the device does not have runs as the next wider one that it has: bf16 as f16, f4 as f8, i8 as f16;
  /// f32 as tf32 where `tf32ForF32` and not `fullF32Products`, as bf16 where `bf16ForF32`; without matrix units for it,
  /// on the vector units.
  double matrixFlopsPerSecond(NumberFormat format) const { return matrix[static_cast<size_t>(format)]; }
  double vectorFlopsPerSecond(NumberFormat format) const { return vector[static_cast<size_t>(format)]; }
  /// The format as which it runs at `matrixFlopsPerSecond`.
  NumberFormat matrixFormat(NumberFormat format) const { return units[static_cast<size_t>(format)]; }
  /// The format that a contraction of \p format asks for: tf32 for convolutions of f32 where `tf32ForF32`, under any
  /// runtime (cuDNN, and PyTorch's `torch.backends.cudnn.allow_tf32`), its own for all others.
  NumberFormat formatOf(const FactorRule &contraction, NumberFormat format) const;

private:
  std::array<double, 10> matrix{}, vector{};
  std::array<NumberFormat, 10> units{};
  bool narrowsConvolutions;
};

/// The cost of a rule with `localSizes` per factor on `device`. A contraction runs at
/// peak * contractionEfficiency(f) * tileEfficiency(shape) on the matrix units, with f its flops in whole tiles, in 8
/// bits or fewer at `narrowContractionShare` of that, but not faster than whole waves of tiles on `multiprocessors` at
/// its top, or on the vector units where they are faster; other ops on the vector units. A sparse operand costs as many
/// bytes as the first result. Attention and dispatch are those of `runtime`.
OpCost opCost(const FactorRule &rule, llvm::ArrayRef<int64_t> localSizes, NumberFormat format, const Device &device,
              const DeviceRates &rates, const Runtime &runtime = {});

} // namespace apc

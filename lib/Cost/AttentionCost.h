// The seconds of attentions: one kernel, or products with kernels for the scores between them.
#pragma once

#include "apc/Cost/OpCost.h"

namespace apc {

/// The share of whole tiles that a size fills: 60 in tiles of 64: 0.94.
double fill(double size, double tile);

/// An attention, or a gradient of it, on one device.
struct LocalAttention {
  const FactorRule &rule;
  llvm::ArrayRef<int64_t> localSizes; ///< by factor
  NumberFormat format;
  double flops; ///< local
};

double attentionSeconds(const LocalAttention &local, const Device &device, const DeviceRates &rates,
                        const Runtime &runtime);

} // namespace apc

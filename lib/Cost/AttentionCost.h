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

/// Is the rule of an attention that of a gradient? Gradients are linear in what arrives; attentions in nothing.
inline bool isGradientOfAttention(const FactorRule &rule) { return !rule.linear.empty(); }
/// The scores of an attention, or of one of its gradients, that takes so many FLOPs.
double scoresOf(const FactorRule &rule, double flops);

} // namespace apc

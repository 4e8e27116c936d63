// Figures of costs that are worked out by hand.
#pragma once

#include "apc/Cost/OpCost.h"

namespace apc {

inline constexpr int64_t mebi = 1 << 20;

/// 100 TFLOP/s bf16, 10 TFLOP/s vectors, 1 TB/s, 5 us to launch; no curves.
inline Device makeDevice(double vectorFlopsPerSecond = 1e13) {
  Device device;
  device.peakFlopsPerSecond = {{NumberFormat::BF16, 1e14}};
  device.peakVectorFlopsPerSecond = {{NumberFormat::F32, vectorFlopsPerSecond}};
  device.memoryBytesPerSecond = 1e12;
  device.launchSeconds = 5e-6;
  return device;
}

} // namespace apc

// Sums of sizes that stop at the largest number instead of wrapping around.
#pragma once

#include "llvm/Support/MathExtras.h"

#include <cstdint>
#include <limits>

namespace apc {

/// a + b, or the largest int64 where the sum exceeds it. Neither is negative.
inline int64_t addSaturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  return llvm::AddOverflow(a, b, sum) ? std::numeric_limits<int64_t>::max() : sum;
}

/// a * b, likewise.
inline int64_t multiplySaturating(int64_t a, int64_t b) {
  int64_t product = 0;
  return llvm::MulOverflow(a, b, product) ? std::numeric_limits<int64_t>::max() : product;
}

} // namespace apc

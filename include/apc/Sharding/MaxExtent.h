// The largest size that every operator takes.
#pragma once

#include <cstdint>

namespace apc {

/// Elements of a dim, and so samples of a batch: products of two sizes and sums of a few of them stay in 64 bits.
inline constexpr int64_t maxExtent = int64_t(1) << 30;

} // namespace apc

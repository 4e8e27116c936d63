// Which elements of a whole dim a device holds.
#pragma once

#include "apc/IR/Kernels/Tensor.h"

#include <limits>
#include <optional>

namespace apc {

/// The value of `LocalOp::offsetOf`: the first position, and, where padding stands between pieces, the position behind
/// the last. 7 over [2, 3] are 0-1, 2-3, none | 4-5, 6, none: the third piece begins at 4, too, so its beginning alone
/// does not tell its padding from elements that another device holds.
struct HeldSpan {
  int64_t begin = 0;
  int64_t end = std::numeric_limits<int64_t>::max(); ///< or the size of the whole

  bool contains(int64_t position) const { return position >= begin && position < end; }
  /// None when the place is not known.
  static std::optional<HeldSpan> read(const Tensor *place) {
    if (!place || place->isFloat() || place->ints.empty() || place->ints.size() > 2)
      return std::nullopt;
    HeldSpan span{place->ints[0]};
    if (place->ints.size() == 2)
      span.end = place->ints[1];
    return span;
  }
};

} // namespace apc

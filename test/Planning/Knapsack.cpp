// A knapsack of which each part has several items: dynamic programming over bytes.
#include "Knapsack.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace apc {

std::optional<double> fewestRecomputed(llvm::ArrayRef<llvm::ArrayRef<RecomputeItem>> parts, int64_t budget) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (budget < 0)
    return std::nullopt;
  std::vector<double> fewest(static_cast<size_t>(budget) + 1, 0); // within so many bytes, of the parts so far
  for (llvm::ArrayRef<RecomputeItem> items : parts) {
    std::vector<double> next(fewest.size(), never);
    for (const RecomputeItem &item : items)
      for (auto bytes = static_cast<size_t>(item.bytes); bytes < next.size(); ++bytes)
        next[bytes] = std::min(next[bytes], fewest[bytes - static_cast<size_t>(item.bytes)] + item.seconds);
    fewest = std::move(next);
  }
  return fewest.back() == never ? std::nullopt : std::optional(fewest.back());
}

} // namespace apc

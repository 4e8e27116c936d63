// The memory of an assignment while single nodes change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace apc {

/// Example: nodes of (4 B persistent, 2 B transient) and (3, 5) at a limit of 11 B need 4 + 3 + max(2, 5) = 12 B.
class MemoryUse {
public:
  explicit MemoryUse(std::optional<int64_t> limit) : limit(limit) {}

  void add(int64_t persistentBytes, int64_t transientBytes) {
    persistent += persistentBytes;
    ++transient[transientBytes];
  }
  void remove(int64_t persistentBytes, int64_t transientBytes) {
    persistent -= persistentBytes;
    auto entry = transient.find(transientBytes);
    if (--entry->second == 0)
      transient.erase(entry);
  }
  /// With one more node; 0 without a limit.
  int64_t aboveLimitWith(int64_t persistentBytes, int64_t transientBytes) const {
    if (!limit)
      return 0;
    int64_t largest = transient.empty() ? 0 : transient.rbegin()->first;
    return std::max<int64_t>(0, persistent + persistentBytes + std::max(largest, transientBytes) - *limit);
  }

private:
  std::optional<int64_t> limit;
  int64_t persistent = 0;
  std::map<int64_t, size_t> transient; ///< how many nodes have each
};

} // namespace apc

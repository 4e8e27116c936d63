// The cost of a choice during a local search, and the memory of an assignment while single nodes change.
#pragma once

#include "apc/Search/Problem.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace apc {

/// The cost of one choice while all other nodes keep theirs. Fewer impossible pairs are better, then fewer bytes above
/// the limit, then fewer seconds.
struct MoveCost {
  int64_t impossible = 0;
  int64_t bytesAboveLimit = 0;
  double seconds = 0;

  /// Counts a NaN as impossible.
  void add(double cell) {
    bool possible = cell == cell;
    seconds += possible ? cell : 0;
    impossible += !possible;
  }
  friend auto operator<=>(const MoveCost &, const MoveCost &) = default;
};

/// The costs of all strategies of one node.
struct StrategyCosts {
  std::vector<double> seconds;     ///< the sum of the possible cells
  std::vector<int32_t> impossible; ///< how many cells are impossible

  void start(llvm::ArrayRef<double> own) {
    seconds.assign(own.size(), 0);
    impossible.assign(own.size(), 0);
    add(own, true);
  }
  /// Adds one cell for each strategy; a NaN is impossible.
  void add(llvm::ArrayRef<double> row, bool hasImpossible) {
    if (!hasImpossible) {
      for (size_t i = 0; i < row.size(); ++i)
        seconds[i] += row[i];
      return;
    }
    for (size_t i = 0; i < row.size(); ++i) {
      bool possible = !std::isnan(row[i]);
      seconds[i] += possible ? row[i] : 0;
      impossible[i] += !possible;
    }
  }
};

/// The costs of all strategies of one node, and the least of each kind, which strategies need not have together.
struct NodeCosts {
  StrategyCosts costs;
  int64_t impossible = 0, persistentBytes = 0, transientBytes = 0;
  double seconds = 0;

  void findLeast(llvm::ArrayRef<int64_t> persistent, llvm::ArrayRef<int64_t> transient) {
    impossible = *std::min_element(costs.impossible.begin(), costs.impossible.end());
    seconds = *std::min_element(costs.seconds.begin(), costs.seconds.end());
    persistentBytes = *std::min_element(persistent.begin(), persistent.end());
    transientBytes = *std::min_element(transient.begin(), transient.end());
  }
};

/// Example: nodes of (4 B persistent, 2 B transient) and (3, 5) at a limit of 11 B need 4 + 3 + max(2, 5) = 12 B.
class MemoryUse {
public:
  explicit MemoryUse(std::optional<int64_t> limit) : limit(limit) {}

  void add(int64_t persistentBytes, int64_t transientBytes) {
    persistent += persistentBytes;
    ++transient[transientBytes];
  }
  void add(const StrategyCost &cost) { add(cost.persistentBytes, cost.transientBytes); }
  void remove(int64_t persistentBytes, int64_t transientBytes) {
    persistent -= persistentBytes;
    auto entry = transient.find(transientBytes);
    if (--entry->second == 0)
      transient.erase(entry);
  }
  void remove(const StrategyCost &cost) { remove(cost.persistentBytes, cost.transientBytes); }
  /// The most transient bytes of a node.
  int64_t largestTransient() const { return transient.empty() ? 0 : transient.rbegin()->first; }
  /// The bytes above the limit with one more node; 0 without a limit.
  int64_t aboveLimitWith(int64_t persistentBytes, int64_t transientBytes) const {
    if (!limit)
      return 0;
    return std::max<int64_t>(0, persistent + persistentBytes + std::max(largestTransient(), transientBytes) - *limit);
  }
  int64_t aboveLimitWith(const StrategyCost &cost) const {
    return aboveLimitWith(cost.persistentBytes, cost.transientBytes);
  }

private:
  std::optional<int64_t> limit;
  int64_t persistent = 0;
  std::map<int64_t, size_t> transient; ///< the number of nodes by transient bytes
};

} // namespace apc

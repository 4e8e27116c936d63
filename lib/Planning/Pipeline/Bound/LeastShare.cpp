// Equal parts go where least work is; the few others are tried everywhere.
#include "LeastShare.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <map>
#include <optional>
#include <queue>
#include <vector>

namespace apc {

namespace {

/// Parts that are equal, and others.
struct SortedParts {
  double equal = 0;
  size_t numEqual = 0;
  std::vector<double> others; ///< the largest first
};

SortedParts sortParts(llvm::ArrayRef<double> parts) {
  std::map<double, size_t> counts;
  for (double part : parts)
    ++counts[part];
  auto most = llvm::max_element(counts, [](const auto &a, const auto &b) { return a.second < b.second; });
  SortedParts sorted{most->first, most->second, {}};
  for (auto [part, count] : llvm::reverse(counts))
    if (part != sorted.equal)
      sorted.others.insert(sorted.others.end(), count, part);
  return sorted;
}

/// The largest of loads behind equal parts, each of which goes to the least of them: no distribution of equal parts has
/// a lower one.
double fill(std::vector<double> loads, double equal, size_t count) {
  double most = *llvm::max_element(loads);
  std::priority_queue<double, std::vector<double>, std::greater<>> least(loads.begin(), loads.end());
  for (; count > 0; --count) {
    double load = least.top() + equal;
    least.pop();
    least.push(load);
    most = std::max(most, load);
  }
  return most;
}

/// Tries all ways to spread the first `count` of the other parts; workers are alike.
class Spreading {
public:
  Spreading(const SortedParts &parts, size_t count, size_t workers) : parts(parts), count(count), loads(workers, 0.0) {}

  double least() {
    place(0, 0);
    return *best;
  }

private:
  void place(size_t part, size_t used) {
    if (part == count) {
      double filled = fill(loads, parts.equal, parts.numEqual);
      best = std::min(best.value_or(filled), filled);
      return;
    }
    for (size_t worker = 0; worker < std::min(used + 1, loads.size()); ++worker) {
      double before = loads[worker];
      loads[worker] += parts.others[part];
      place(part + 1, std::max(used, worker + 1));
      loads[worker] = before;
    }
  }

  const SortedParts &parts;
  size_t count;
  std::vector<double> loads;
  std::optional<double> best;
};

} // namespace

double leastLargestShare(llvm::ArrayRef<double> parts, size_t workers) {
  assert(workers > 0 && "somebody does the work");
  if (parts.empty())
    return 0;
  double sum = 0;
  for (double part : parts)
    sum += part;
  SortedParts sorted = sortParts(parts);
  constexpr size_t mostOthers = 6; // 203 ways to group them
  double whole = Spreading(sorted, std::min(mostOthers, sorted.others.size()), workers).least();
  return std::max(whole, sum / static_cast<double>(workers));
}

} // namespace apc

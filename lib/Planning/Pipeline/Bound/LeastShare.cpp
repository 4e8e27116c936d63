// Equal parts go where least work is; the few others are tried everywhere.
#include "LeastShare.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <cmath>
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
  double sum = equal * static_cast<double>(count);
  for (double load : loads)
    sum += load;
  const double mean = sum / static_cast<double>(loads.size());
  for (double &load : loads) // all come up to the mean, but for less than a part
    if (equal > 0 && load < mean) {
      const double rounds = std::min(std::floor((mean - load) / equal), static_cast<double>(count));
      load += rounds * equal;
      count -= static_cast<size_t>(rounds);
    }
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

/// Tries all ways to spread the first `count` of the other parts; workers with equal loads are alike.
class Spreading {
public:
  Spreading(const SortedParts &parts, size_t count, std::vector<double> begun)
      : parts(parts), count(count), loads(std::move(begun)) {}

  double least() {
    place(0);
    return *best;
  }

private:
  void place(size_t part) {
    if (part == count) {
      double filled = fill(loads, parts.equal, parts.numEqual);
      best = std::min(best.value_or(filled), filled);
      return;
    }
    for (size_t worker = 0; worker < loads.size(); ++worker) {
      const double before = loads[worker];
      if (llvm::is_contained(llvm::ArrayRef(loads).take_front(worker), before))
        continue;
      loads[worker] += parts.others[part];
      place(part + 1);
      loads[worker] = before;
    }
  }

  const SortedParts &parts;
  size_t count;
  std::vector<double> loads;
  std::optional<double> best;
};

/// Other parts that can be tried everywhere at little cost.
size_t numTried(const SortedParts &sorted, llvm::ArrayRef<double> begun) {
  constexpr size_t mostOthers = 6; // 203 ways to group them
  const size_t count = std::min(mostOthers, sorted.others.size());
  if (llvm::all_equal(begun))
    return count;
  constexpr size_t mostWays = 4096;
  size_t tried = 0;
  for (size_t ways = begun.size(); tried < count && ways <= mostWays; ways *= begun.size())
    ++tried;
  return tried;
}

} // namespace

double leastLargestShare(llvm::ArrayRef<double> parts, std::vector<double> begun) {
  assert(!begun.empty() && "somebody does the work");
  if (parts.empty())
    return *llvm::max_element(begun);
  double sum = 0;
  for (llvm::ArrayRef<double> all : {parts, llvm::ArrayRef(begun)})
    for (double part : all)
      sum += part;
  const double mean = sum / static_cast<double>(begun.size());
  SortedParts sorted = sortParts(parts);
  const size_t tried = numTried(sorted, begun);
  return std::max(Spreading(sorted, tried, std::move(begun)).least(), mean);
}

double leastLargestShare(llvm::ArrayRef<double> parts, size_t workers) {
  return leastLargestShare(parts, std::vector<double>(workers, 0.0));
}

} // namespace apc

// Means, quantiles and ranks.
#include "apc/Measure/Statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace apc {

namespace {

std::optional<double> mean(llvm::ArrayRef<double> numbers) {
  if (numbers.empty())
    return std::nullopt;
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

std::vector<double> errorsOf(llvm::ArrayRef<Compared> pairs, bool absolute) {
  std::vector<double> errors;
  for (const Compared &pair : pairs)
    errors.push_back(absolute ? std::abs(pair.error()) : pair.error());
  return errors;
}

/// Ranks from 1; equal numbers have the mean of theirs.
std::vector<double> ranksOf(llvm::ArrayRef<double> numbers) {
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return numbers[a] < numbers[b]; });
  std::vector<double> ranks(numbers.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]])
      ++end;
    for (size_t at = begin; at < end; ++at)
      ranks[order[at]] = static_cast<double>(begin + 1 + end) / 2;
    begin = end;
  }
  return ranks;
}

/// Pearson's correlation.
std::optional<double> correlation(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  double meanOfA = *mean(a), meanOfB = *mean(b), together = 0, ofA = 0, ofB = 0;
  for (size_t index = 0; index < a.size(); ++index) {
    together += (a[index] - meanOfA) * (b[index] - meanOfB);
    ofA += (a[index] - meanOfA) * (a[index] - meanOfA);
    ofB += (b[index] - meanOfB) * (b[index] - meanOfB);
  }
  if (ofA == 0 || ofB == 0)
    return std::nullopt;
  return together / std::sqrt(ofA * ofB);
}

std::optional<double> share(size_t part, size_t whole) {
  if (whole == 0)
    return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

} // namespace

std::optional<double> meanAbsoluteError(llvm::ArrayRef<Compared> pairs) { return mean(errorsOf(pairs, true)); }

std::optional<double> bias(llvm::ArrayRef<Compared> pairs) { return mean(errorsOf(pairs, false)); }

std::optional<double> quantile(std::vector<double> numbers, double q) {
  if (numbers.empty())
    return std::nullopt;
  std::sort(numbers.begin(), numbers.end());
  double place = q * static_cast<double>(numbers.size() - 1);
  auto below = static_cast<size_t>(place);
  size_t above = std::min(below + 1, numbers.size() - 1);
  return numbers[below] + (place - static_cast<double>(below)) * (numbers[above] - numbers[below]);
}

std::optional<double> errorQuantile(llvm::ArrayRef<Compared> pairs, double q) {
  return quantile(errorsOf(pairs, true), q);
}

std::optional<double> rankCorrelation(llvm::ArrayRef<Compared> pairs) {
  if (pairs.size() < 2)
    return std::nullopt;
  std::vector<double> predicted, measured;
  for (const Compared &pair : pairs) {
    predicted.push_back(pair.predicted);
    measured.push_back(pair.measured);
  }
  return correlation(ranksOf(predicted), ranksOf(measured));
}

void Outcomes::add(bool predicted, bool happened) {
  ++(predicted ? (happened ? predictedAndTrue : predictedOnly) : (happened ? trueOnly : neither));
}

std::optional<double> Outcomes::precision() const { return share(predictedAndTrue, predictedAndTrue + predictedOnly); }

std::optional<double> Outcomes::recall() const { return share(predictedAndTrue, predictedAndTrue + trueOnly); }

} // namespace apc

// Quantiles of residuals, and of those in which each source counts as one.
#include "apc/Measure/Intervals.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace apc {

namespace {

/// A factor and its part of the whole.
using Weighted = std::pair<double, double>;

/// The factor without its sign: 0.8 and 1.25 are as far from 1.
double distanceOf(double factor) { return std::max(factor, 1 / factor); }

/// The factors that \p takes, ascending; weights of a source make one.
std::vector<Weighted> weigh(llvm::ArrayRef<Residual> residuals, llvm::function_ref<bool(const Residual &)> takes) {
  llvm::StringMap<double> rows;
  for (const Residual &residual : residuals)
    if (takes(residual))
      ++rows[residual.source];
  std::vector<Weighted> weighted;
  for (const Residual &residual : residuals)
    if (takes(residual))
      weighted.emplace_back(residual.factor, 1 / (rows[residual.source] * static_cast<double>(rows.size())));
  llvm::sort(weighted);
  return weighted;
}

/// The least factor below or at which the share \p q of the weights lies.
double quantileOf(llvm::ArrayRef<Weighted> weighted, double q) {
  constexpr double rounding = 1e-9;
  double sum = 0;
  for (auto [factor, weight] : weighted) {
    sum += weight;
    if (sum >= q - rounding)
      return factor;
  }
  return weighted.back().first;
}

/// The distance that the share \p q of rows keeps to, one more of which may be the farthest: rank (rows + 1) q.
double quantileOfRows(std::vector<double> distances, double q) {
  constexpr double rounding = 1e-9;
  const double rank = std::ceil(q * static_cast<double>(distances.size() + 1) - rounding);
  llvm::sort(distances);
  return distances[std::min(distances.size(), static_cast<size_t>(rank)) - 1];
}

size_t numSources(llvm::ArrayRef<Residual> residuals, llvm::function_ref<bool(const Residual &)> takes) {
  llvm::StringMap<bool> sources;
  for (const Residual &residual : residuals)
    if (takes(residual))
      sources[residual.source] = true;
  return sources.size();
}

} // namespace

std::optional<ErrorInterval> intervalWithout(llvm::ArrayRef<Residual> residuals, llvm::StringRef kind,
                                             std::optional<llvm::StringRef> leftOut) {
  auto isOther = [&](const Residual &each) { return !leftOut || each.source != *leftOut; };
  auto isOfKind = [&](const Residual &each) { return isOther(each) && each.kind == kind; };
  bool hasKind = numSources(residuals, isOfKind) >= leastSources;
  std::vector<double> distances;
  for (const Residual &each : residuals)
    if (hasKind ? isOfKind(each) : isOther(each))
      distances.push_back(distanceOf(each.factor));
  if (distances.empty())
    return std::nullopt;
  double distance = quantileOfRows(std::move(distances), nominalCoverage);
  return ErrorInterval{1 / distance, distance};
}

std::vector<KindInterval> intervalsByKind(llvm::ArrayRef<Residual> residuals) {
  std::map<std::string, ErrorInterval> byKind;
  for (const Residual &residual : residuals)
    if (auto [entry, isNew] = byKind.try_emplace(residual.kind); isNew)
      entry->second = *intervalWithout(residuals, residual.kind, /*leftOut=*/std::nullopt);
  std::vector<KindInterval> intervals;
  for (const auto &[kind, interval] : byKind)
    intervals.push_back({kind, interval});
  return intervals;
}

std::vector<LeftOutSource> leaveOutSources(llvm::ArrayRef<Residual> residuals) {
  std::vector<LeftOutSource> sources;
  for (const Residual &residual : residuals)
    if (llvm::none_of(sources, [&](const LeftOutSource &own) { return own.source == residual.source; }))
      sources.emplace_back().source = residual.source;
  if (sources.size() < 2)
    return {};
  for (LeftOutSource &own : sources) {
    constexpr double median = 0.5;
    auto isOther = [&](const Residual &each) { return each.source != own.source; };
    own.factor = quantileOf(weigh(residuals, isOther), median);
    for (const Residual &residual : residuals) {
      if (residual.source != own.source)
        continue;
      ++own.rows;
      own.error += std::abs(1 / residual.factor - 1);
      own.factoredError += std::abs(own.factor / residual.factor - 1);
      own.covered += intervalWithout(residuals, residual.kind, own.source)->covers(residual.factor) ? 1 : 0;
    }
    own.error /= static_cast<double>(own.rows);
    own.factoredError /= static_cast<double>(own.rows);
  }
  return sources;
}

std::optional<double> coverageOf(llvm::ArrayRef<LeftOutSource> sources) {
  size_t rows = 0, covered = 0;
  for (const LeftOutSource &own : sources) {
    rows += own.rows;
    covered += own.covered;
  }
  return rows > 0 ? std::optional(static_cast<double>(covered) / static_cast<double>(rows)) : std::nullopt;
}

std::optional<double> meanCoverageOf(llvm::ArrayRef<LeftOutSource> sources) {
  double sum = 0;
  for (const LeftOutSource &own : sources)
    sum += static_cast<double>(own.covered) / static_cast<double>(own.rows);
  return sources.empty() ? std::nullopt : std::optional(sum / static_cast<double>(sources.size()));
}

} // namespace apc

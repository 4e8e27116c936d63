// Efficiency curves, and cutting a cluster to the devices of a job.
#include "apc/Cluster/Cluster.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include <boost/math/distributions/normal.hpp>

#include <bit>
#include <cmath>

using namespace llvm;

namespace apc {

namespace {

/// The largest divisor of `count` that is at most `limit`.
int64_t largestDivisor(int64_t count, int64_t limit) {
  for (int64_t candidate = std::min(count, limit); candidate > 1; --candidate)
    if (count % candidate == 0)
      return candidate;
  return 1;
}

/// Devices that fill no groups: the pieces in which they are taken. `outer` are the groups, `whole` would fit one.
std::string unevenNote(int64_t count, const Level &level, int64_t whole, int64_t groups, StringRef outer) {
  return formatv(
             "{0} are taken as {1} with {2} each (the other {3} of each {4} are not yours); {5} with {6} and a last "
             "one with {7} cannot be planned",
             counted(count, level.name), counted(groups, outer), counted(level.size, level.name), whole - level.size,
             outer, counted(count / whole, outer), whole, count % whole)
      .str();
}

/// How many standard deviations the slowest of `count` devices is slower than a usual one, in the mean of a normal
/// distribution (Blom, Statistical Estimates and Transformed Beta-Variables, 1958). 8: 1.43; 1,024: 3.23.
double deviationsOfSlowest(int64_t count) {
  const auto devices = static_cast<double>(count);
  return boost::math::quantile(boost::math::normal(), (devices - 0.375) / (devices + 0.25));
}

void appendNote(std::string *note, const std::string &text) {
  if (!note)
    return;
  if (!note->empty())
    *note += "; ";
  *note += text;
}

} // namespace

ArrayRef<StringLiteral> enumNames(Topology) {
  static constexpr StringLiteral names[] = {"switch", "mesh", "torus"};
  return names;
}

double EfficiencyCurve::at(double size) const {
  if (points.empty())
    return 1;
  if (size <= points.front().first)
    return points.front().second;
  for (size_t i = 1; i < points.size(); ++i) {
    if (size > points[i].first)
      continue;
    auto [fromSize, from] = points[i - 1];
    auto [toSize, to] = points[i];
    return from + (to - from) * std::log(size / fromSize) / std::log(toSize / fromSize);
  }
  return points.back().second;
}

bool EfficiencyCurve::isMonotoneInTime() const {
  for (size_t i = 1; i < points.size(); ++i) {
    double slope = (points[i].second - points[i - 1].second) / std::log(points[i].first / points[i - 1].first);
    if (slope > points[i - 1].second)
      return false;
  }
  return true;
}

int64_t Pool::numDevices() const {
  int64_t count = 1;
  for (const Level &level : levels)
    count *= level.size;
  return count;
}

SmallVector<int64_t, 4> Pool::levelSizes() const {
  SmallVector<int64_t, 4> sizes;
  for (const Level &level : levels)
    sizes.push_back(level.size);
  return sizes;
}

Expected<Cluster> withDevices(const Cluster &cluster, int64_t count, std::string *note) {
  if (count < 1 || count > maxDevices)
    return inputError("{0} devices: a number from 1 to {1} is expected", count, maxDevices);
  if (note)
    note->clear();
  Cluster cut = cluster;
  Device &device = cut.pool.device;
  device.slowestShare = 1 / (1 + device.speedVariation * deviationsOfSlowest(count));
  int64_t left = count;
  for (size_t i = cut.pool.levels.size(); i-- > 0;) {
    Level &level = cut.pool.levels[i];
    int64_t whole = level.size;
    level.size = i == 0 ? left : largestDivisor(left, whole);
    // A level is short of its size although there is more than one of it.
    if (i > 0 && level.size < whole && left > level.size)
      appendNote(note, unevenNote(left, level, whole, left / level.size, cut.pool.levels[i - 1].name));
    if (level.size > whole)
      appendNote(note, formatv("{0} {1}s are more than the {2} that cluster '{3}' describes; they are taken to be "
                               "linked alike",
                               level.size, level.name, whole, cluster.name)
                           .str());
    left /= level.size;
  }
  return cut;
}

/// Are there enough innermost groups for `fewer` devices among those of `count`, which fill all groups but the last?
static bool areAmong(const Cluster &cluster, int64_t fewer, int64_t count) {
  int64_t group = cluster.pool.levels.back().size;
  if (cluster.pool.levels.size() == 1)
    return true;
  int64_t wanted = cantFail(withDevices(cluster, fewer)).pool.levels.back().size;
  int64_t groups = count / group + (count % group >= wanted ? 1 : 0);
  return fewer / wanted <= groups;
}

SmallVector<int64_t, 4> fewerCounts(const Cluster &cluster, int64_t count) {
  SmallVector<int64_t, 4> counts;
  bool dividesWell = std::has_single_bit(static_cast<uint64_t>(count));
  for (int64_t odd : dividesWell ? std::vector<int64_t>() : std::vector<int64_t>{1, 3, 5, 7}) {
    int64_t most = odd;
    while (2 * most < count)
      most *= 2;
    if (most < count && count % most != 0)
      counts.push_back(most);
  }
  int64_t group = 1;
  for (const Level &level : drop_begin(cluster.pool.levels))
    group *= level.size;
  for (const Level &level : drop_begin(cluster.pool.levels)) {
    if (group < count && count % group != 0)
      counts.push_back(count - count % group);
    group /= level.size;
  }
  llvm::sort(counts, std::greater<>());
  counts.erase(llvm::unique(counts), counts.end());
  llvm::erase_if(counts, [&](int64_t fewer) { return !areAmong(cluster, fewer, count); });
  return counts;
}

} // namespace apc

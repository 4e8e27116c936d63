// Groups of devices by bisection of the load of the busiest one.
#include "ChooseWorkers.h"

#include "../BalancedCuts.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace apc {

namespace {

/// How far groups of devices get along the parts when none may weigh more than a limit.
class DeviceGroups {
public:
  DeviceGroups(const Pool &pool, llvm::ArrayRef<double> parts, size_t workers, GroupSizes isTried)
      : numDevices(static_cast<size_t>(pool.numDevices())), workers(workers), sums(parts.size() + 1, 0) {
    std::partial_sum(parts.begin(), parts.end(), sums.begin() + 1);
    const llvm::SmallVector<int64_t, 4> levels = pool.levelSizes();
    for (size_t first = 0; first < numDevices; ++first) {
      std::vector<size_t> &own = sizes.emplace_back();
      for (size_t size = 1; first + size <= numDevices; ++size)
        if (isTried(size) && sizesOfRanks(levels, static_cast<int64_t>(first), static_cast<int64_t>(size)))
          own.push_back(size);
    }
  }

  /// The sizes of the groups, none heavier by device than \p most; none where there are no such groups.
  std::optional<std::vector<int64_t>> within(double most) const {
    const size_t numParts = sums.size() - 1;
    std::vector<std::vector<Reached>> reached(workers + 1, std::vector<Reached>(numDevices + 1));
    reached[0][0] = {0, 0};
    for (size_t worker = 0; worker < workers; ++worker)
      for (size_t first = 0; first < numDevices; ++first)
        if (std::optional<size_t> part = reached[worker][first].part)
          for (size_t size : sizes[first]) {
            size_t end = endOf(*part, most * static_cast<double>(size), numParts - (workers - worker - 1));
            Reached &next = reached[worker + 1][first + size];
            if (end > *part && (!next.part || end > *next.part))
              next = {end, size};
          }
    if (reached[workers][numDevices].part != numParts)
      return std::nullopt;
    std::vector<int64_t> found(workers);
    for (size_t worker = workers, end = numDevices; worker > 0; --worker) {
      found[worker - 1] = static_cast<int64_t>(reached[worker][end].size);
      end -= reached[worker][end].size;
    }
    return found;
  }

  double weight() const { return sums.back(); }

private:
  struct Reached {
    std::optional<size_t> part = {}; ///< the first that no group has yet
    size_t size = 0;                 ///< of the last group
  };

  /// Behind the last part that a group from `part` on may have, as far as `last`.
  size_t endOf(size_t part, double weight, size_t last) const {
    constexpr double rounding = 1e-9;
    auto end = llvm::upper_bound(sums, sums[part] + weight * (1 + rounding));
    return std::min(static_cast<size_t>(end - sums.begin()) - 1, last);
  }

  size_t numDevices, workers;
  std::vector<double> sums;               ///< of the parts in front
  std::vector<std::vector<size_t>> sizes; ///< by first rank: of groups that are possible
};

} // namespace

std::optional<std::vector<int64_t>> balancedDevices(const Pool &pool, llvm::ArrayRef<double> parts, size_t workers,
                                                    GroupSizes isTried) {
  if (workers < 1 || parts.size() < workers)
    return std::nullopt;
  DeviceGroups groups(pool, parts, workers, isTried);
  double most = groups.weight(), least = most / static_cast<double>(pool.numDevices());
  std::optional<std::vector<int64_t>> best = groups.within(most);
  constexpr unsigned bisections = 40;
  for (unsigned round = 0; best && round < bisections; ++round) {
    double middle = (least + most) / 2;
    if (auto found = groups.within(middle)) {
      best = std::move(found);
      most = middle;
    } else {
      least = middle;
    }
  }
  return best;
}

std::vector<bool> evenSizes(const OpGraph &graph, size_t most) {
  std::vector<double> ofRules(graph.rules.size()), flops(most + 1);
  for (const GraphOp &op : graph.ops)
    if (const FactorRule &rule = graph.rules[op.rule.index()]; rule.work == Work::Contraction)
      ofRules[op.rule.index()] += rule.flops() * static_cast<double>(op.repeats);
  for (auto [rule, own] : llvm::zip_equal(graph.rules, ofRules))
    for (size_t size = 1; own > 0 && size <= most; ++size) {
      auto isCut = [&](const Factor &factor) { return !factor.whole && factor.size % static_cast<int64_t>(size) == 0; };
      flops[size] += llvm::any_of(rule.factors, isCut) ? own : 0;
    }
  const double all = std::accumulate(ofRules.begin(), ofRules.end(), 0.0);
  std::vector<bool> isEven;
  for (double own : flops)
    isEven.push_back(2 * own > all);
  return isEven;
}

llvm::Expected<WorkerPools> chooseWorkers(const PlanningTask &whole) {
  const PipelineChoice &choice = whole.request.pipeline;
  const std::string source = "--pipeline " + choice.str();
  if (!choice.devices.empty() || poolOfWorker(whole.pool, *choice.count))
    return workersOf(whole.pool, choice, source);
  const std::vector<double> layers = secondsByLayer(whole.graph, whole.pool);
  const auto workers = static_cast<size_t>(*choice.count);
  const std::vector<bool> isEven = evenSizes(whole.graph, static_cast<size_t>(whole.pool.numDevices()));
  std::optional<std::vector<int64_t>> devices =
      balancedDevices(whole.pool, layers, workers, [&](size_t size) -> bool { return isEven[size]; });
  if (!devices)
    devices = balancedDevices(whole.pool, layers, workers);
  if (devices)
    return *WorkerPools::of(whole.pool, *devices);
  return inputError("{0}: the {1} devices and {2} parts between the places where the model may be cut are no {3} "
                    "groups; fewer workers are accepted",
                    source, whole.pool.numDevices(), layers.size(), *choice.count);
}

} // namespace apc

// A linear partition of the model's layers.
#include "BalancedCuts.h"

#include "../References.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Graph/LayerCuts.h"
#include "apc/Graph/StageSplit.h"
#include "apc/Planning/NothingFits.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

namespace apc {

namespace {

/// The least cost of groupings by dynamic programming: `combine` adds a group of so much weight to a grouping, or
/// refuses it.
class Grouping {
public:
  Grouping(llvm::ArrayRef<double> parts, llvm::ArrayRef<double> strengths)
      : sums(parts.size() + 1), strengths(strengths) {
    for (size_t part = 0; part < parts.size(); ++part)
      sums[part + 1] = sums[part] + parts[part];
  }

  struct Best {
    double cost = 0;
    std::vector<size_t> firsts;
  };
  Best best(llvm::function_ref<std::optional<double>(double, double)> combine) const {
    size_t numParts = sums.size() - 1, numGroups = strengths.size();
    std::vector<std::optional<double>> costs(numParts + 1);
    costs[0] = 0;
    std::vector<std::vector<size_t>> froms;
    for (size_t group = 0; group < numGroups; ++group) {
      std::vector<std::optional<double>> next(numParts + 1);
      std::vector<size_t> from(numParts + 1);
      for (size_t end = group + 1; end <= numParts; ++end)
        for (size_t begin = group; begin < end; ++begin) {
          if (!costs[begin])
            continue;
          std::optional<double> cost = combine(*costs[begin], (sums[end] - sums[begin]) / strengths[group]);
          if (cost && (!next[end] || *cost < *next[end])) {
            next[end] = cost;
            from[end] = begin;
          }
        }
      costs = std::move(next);
      froms.push_back(std::move(from));
    }
    Best found{*costs[numParts], {}};
    for (size_t group = numGroups, end = numParts; group-- > 1;)
      found.firsts.push_back(end = froms[group][end]);
    std::reverse(found.firsts.begin(), found.firsts.end());
    return found;
  }

private:
  std::vector<double> sums; ///< of the parts before
  llvm::ArrayRef<double> strengths;
};

/// By position in the forward pass: the seconds of the op and of all that it leads, for one micro-batch.
std::vector<double> secondsByPosition(const OpGraph &graph, llvm::ArrayRef<OpId> forward, const CostModel &single) {
  std::vector<size_t> positions(graph.ops.size(), forward.size());
  for (auto [position, op] : llvm::enumerate(forward))
    positions[op.index()] = position;
  for (const TiedOps &tie : graph.ties)
    for (OpId op : tie)
      positions[op.index()] = std::min(positions[op.index()], positions[tie.front().index()]);
  std::vector<Strategy> whole = replicated(graph);
  std::vector<double> seconds(forward.size() + 1);
  int64_t microBatches = graph.microBatches();
  for (auto [index, op] : llvm::enumerate(graph.ops))
    if (op.repeats == microBatches)
      seconds[positions[index]] +=
          costOfOp(graph, OpId(index), whole[index], single).seconds() / static_cast<double>(microBatches);
  seconds.pop_back();
  return seconds;
}

} // namespace

std::vector<size_t> balancedGroups(llvm::ArrayRef<double> parts, llvm::ArrayRef<double> strengths) {
  assert(!strengths.empty() && parts.size() >= strengths.size() && "a part for each group");
  Grouping grouping(parts, strengths);
  double most = grouping.best([](double cost, double weight) { return std::optional(std::max(cost, weight)); }).cost;
  constexpr double rounding = 1e-9;
  auto addSquare = [&](double cost, double weight) {
    return weight <= most * (1 + rounding) ? std::optional(cost + weight * weight) : std::nullopt;
  };
  return grouping.best(addSquare).firsts;
}

std::vector<double> strengthsOf(const WorkerPools &workers, size_t numStages) {
  std::vector<double> strengths;
  for (uint32_t stage = 0; stage < numStages; ++stage)
    strengths.push_back(workers.strengthOf(stage));
  return strengths;
}

std::vector<double> secondsByLayer(const OpGraph &graph, const Pool &pool) {
  std::vector<CutPosition> places = layerCuts(graph);
  std::vector<OpId> forward = forwardOps(graph);
  std::vector<double> parts(places.size() + 1);
  size_t part = 0;
  for (auto [position, own] : llvm::enumerate(secondsByPosition(graph, forward, CostModel(pool, Mesh())))) {
    while (part < places.size() && position >= places[part].position)
      ++part;
    parts[part] += own;
  }
  return parts;
}

/// There must be a place between any two stages.
static llvm::Error checkPlaces(size_t places, size_t numStages, llvm::StringRef source) {
  if (places + 1 >= numStages)
    return llvm::Error::success();
  return llvm::make_error<TooManyStages>(
      Fault::Input,
      llvm::formatv("{0}{1}a pipeline of {2} stages: the model can be cut at {3}, into {4} at most", source,
                    source.empty() ? "" : ": ", numStages, counted(static_cast<int64_t>(places), "place"),
                    counted(static_cast<int64_t>(places) + 1, "stage")));
}

llvm::Error checkStages(const OpGraph &graph, size_t numStages, llvm::StringRef source) {
  return checkPlaces(layerCuts(graph).size(), numStages, source);
}

llvm::Expected<std::vector<size_t>> balancedCuts(const OpGraph &graph, const WorkerPools &workers, size_t numStages,
                                                 llvm::StringRef source) {
  std::vector<CutPosition> places = layerCuts(graph);
  if (llvm::Error error = checkPlaces(places.size(), numStages, source))
    return std::move(error);
  std::vector<size_t> cuts;
  for (size_t first : balancedGroups(secondsByLayer(graph, workers.pool(0)), strengthsOf(workers, numStages)))
    cuts.push_back(places[first - 1].position);
  return cuts;
}

} // namespace apc

// A minimum cut for each cost of a byte at which other values may be kept.
#include "KeptCosts.h"

#include "../../Problem/Moments.h"

#include "apc/Graph/MinimumCut.h"
#include "apc/Graph/StageSplit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

/// The values that the backward pass reads and those that they are made of, with the ops that make them. Nodes of a
/// cut, but for its two ends.
struct Remade {
  CutGraph graph;
  std::vector<double> bytes, seconds; ///< by node: of a value that is kept, of an op that runs again
  size_t end = 0;                     ///< the op that never runs, and leads nowhere

  size_t add(double ownBytes, double ownSeconds) {
    bytes.push_back(ownBytes);
    seconds.push_back(ownSeconds);
    return bytes.size() - 1;
  }
};

/// Builds the graph of a cut: from each value to the op that makes it, and to the values that this op reads.
class RemadeValues {
public:
  RemadeValues(const OpGraph &graph, llvm::ArrayRef<double> opSeconds, int64_t devices)
      : graph(graph), opSeconds(opSeconds), devices(static_cast<double>(devices)), storages(graph.storages()),
        isWeight(graph.weights()), follows(graph.followers()), nodes(graph.values.size()) {}

  Remade run() {
    remade.end = remade.add(0, 0);
    addValues();
    for (auto [index, op] : llvm::enumerate(graph.ops))
      addOp(OpId(index));
    for (auto [index, isKept] : llvm::enumerate(graph.keptForBackward()))
      if (isKept && nodes[index])
        remade.graph.sources.push_back(*nodes[index]);
    return std::move(remade);
  }

private:
  /// Those of the forward pass that are not at hand in any case, as parameters are and what comes in from outside.
  void addValues() {
    const std::vector<int64_t> times = graph.timesHeld(), least = leastOfViews(graph);
    for (auto [index, value] : llvm::enumerate(graph.values)) {
      const bool isOwn = storages[index] == ValueId(index) && !isWeight[index] && !follows[value.producer.index()];
      if (isOwn && !graph.isAccumulated(ValueId(index)) && !isSource(graph, value.producer))
        nodes[index] = remade.add(static_cast<double>(times[index] * least[index]) / devices, 0);
    }
  }

  /// Ops that are no contractions may be a part of a kernel that runs anyhow.
  void addOp(OpId id) {
    const GraphOp &op = graph.op(id);
    const bool isProduct = graph.ruleOf(id).work == Work::Contraction;
    std::optional<size_t> own;
    for (std::optional<ValueId> result : op.results) {
      const std::optional<size_t> made = result ? nodes[result->index()] : std::nullopt;
      if (!made)
        continue;
      if (!own) {
        own = remade.add(0, isProduct ? opSeconds[id.index()] : 0);
        remade.graph.edges.emplace_back(*own, remade.end);
      }
      remade.graph.edges.emplace_back(*made, *own);
      for (std::optional<ValueId> operand : op.operands)
        if (const auto read = operand ? nodes[storages[operand->index()].index()] : std::nullopt)
          remade.graph.edges.emplace_back(*made, *read);
    }
  }

  const OpGraph &graph;
  llvm::ArrayRef<double> opSeconds; ///< by op
  double devices;
  std::vector<ValueId> storages;
  std::vector<bool> isWeight, follows;
  Remade remade;
  std::vector<std::optional<size_t>> nodes; ///< by value
};

/// \p most: above all that a cut may cost.
PaidLine cheapestAt(Remade &remade, double secondsPerByte, double most) {
  constexpr double units = 1e15; // of all seconds together; weights are whole numbers
  std::vector<int64_t> weights;
  for (auto [bytes, seconds] : llvm::zip_equal(remade.bytes, remade.seconds))
    weights.push_back(static_cast<int64_t>(std::floor((seconds + secondsPerByte * bytes) / most * units)));
  weights[remade.end] = static_cast<int64_t>(2 * units);
  remade.graph.weights = std::move(weights);
  remade.graph.targets = {remade.end};
  PaidLine line;
  for (size_t node : minimumNodeCut(remade.graph)) {
    line.bytes += remade.bytes[node];
    line.seconds += remade.seconds[node];
  }
  return line;
}

/// Looks between two costs for others at which something else is kept.
class KeptCosts {
public:
  explicit KeptCosts(Remade remade) : remade(std::move(remade)) {
    for (auto [bytes, seconds] : llvm::zip_equal(this->remade.bytes, this->remade.seconds)) {
      allBytes += bytes;
      allSeconds += seconds;
    }
  }

  std::vector<PaidAt> run() {
    if (allSeconds == 0) // everything can be made again
      return {};
    constexpr double little = 1e-9, much = 1e6;
    const double usual = allSeconds / allBytes;
    found.push_back({});
    const PaidLine all = at(little * usual), few = at(much * usual);
    between(all, few);
    found.push_back({much * usual, few.paid(much * usual)});
    llvm::sort(found, [](const PaidAt &a, const PaidAt &b) { return a.secondsPerByte < b.secondsPerByte; });
    return std::move(found);
  }

private:
  PaidLine at(double secondsPerByte) {
    return cheapestAt(remade, secondsPerByte, allSeconds + secondsPerByte * allBytes);
  }

  /// Where the lines of both meet, a set that is cheaper takes the place of one of them.
  void between(const PaidLine &most, const PaidLine &fewest) {
    constexpr size_t mostCosts = 24;
    if (found.size() >= mostCosts || most.bytes <= fewest.bytes || fewest.seconds <= most.seconds)
      return;
    const double cost = (fewest.seconds - most.seconds) / (most.bytes - fewest.bytes);
    const PaidLine own = at(cost);
    found.push_back({cost, std::min(own.paid(cost), most.paid(cost))});
    constexpr double little = 1e-3;
    if (own.paid(cost) >= most.paid(cost) * (1 - little))
      return;
    between(most, own);
    between(own, fewest);
  }

  Remade remade;
  double allBytes = 0, allSeconds = 0;
  std::vector<PaidAt> found;
};

} // namespace

std::vector<PaidAt> keptCostsOf(const OpGraph &graph, llvm::ArrayRef<double> seconds, int64_t devices) {
  if (graph.keepsNarrowCopies)
    return {};
  Remade remade = RemadeValues(graph, seconds, devices).run();
  return remade.graph.sources.empty() ? std::vector<PaidAt>() : KeptCosts(std::move(remade)).run();
}

PaidLine lineBelow(llvm::ArrayRef<PaidAt> known, double secondsPerByte) {
  auto above = llvm::find_if(known, [&](const PaidAt &own) { return own.secondsPerByte > secondsPerByte; });
  if (above == known.begin())
    return {};
  const PaidAt &below = *std::prev(above);
  if (above == known.end())
    return {below.seconds, 0};
  const double bytes = (above->seconds - below.seconds) / (above->secondsPerByte - below.secondsPerByte);
  return {below.seconds - bytes * below.secondsPerByte, bytes};
}

} // namespace apc

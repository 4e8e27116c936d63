// V-Min and V-Half: two chunks in V placement, whose micro-batches begin so far apart that few are in flight.
#include "Generators.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace apc {

namespace {

/// Every worker does the six actions of a micro-batch, all as long, in six units of time, and then those of the next.
constexpr uint32_t period = 6;

/// When a worker begins the actions of micro-batch 0, of chunk 0 and 1 each.
struct BuildingBlock {
  std::array<uint32_t, 2> forward, inputs;
};

BuildingBlock blockOfVMin(uint32_t p, uint32_t r) {
  uint32_t wait = p % 3 == 0 ? 2 : 0;
  return {{r, 2 * p - 1 - r}, {4 * p + wait - 1 - r, 2 * p + wait + r}};
}

BuildingBlock blockOfVHalf(uint32_t p, uint32_t r) {
  uint32_t wait = p % 2 == 0 ? 3 : 0;
  return {{2 * r, 3 * p - 2 - r}, {6 * p + wait - 2 - r, 3 * p + wait - 1 + 2 * r}};
}

/// The first units behind the gradients of inputs, chunk 1 first, at which nothing else is done.
std::array<uint32_t, 2> timesOfWeights(const BuildingBlock &block) {
  std::array<bool, period> isTaken = {};
  for (uint32_t chunk : {0, 1})
    isTaken[block.forward[chunk] % period] = isTaken[block.inputs[chunk] % period] = true;
  std::array<uint32_t, 2> weights = {};
  for (uint32_t chunk : {1, 0}) {
    uint32_t time = block.inputs[chunk] + 1;
    while (isTaken[time % period])
      ++time;
    isTaken[time % period] = true;
    weights[chunk] = time;
  }
  return weights;
}

/// The actions in the order of these times; workers then begin each as soon as they can.
ActionLists inOrder(const PipelineCounts &counts, BuildingBlock (*blockOf)(uint32_t p, uint32_t r)) {
  ActionLists lists = emptyLists(counts, Placement::V);
  for (uint32_t r = 0; r < counts.workers; ++r) {
    const BuildingBlock block = blockOf(counts.workers, r);
    const std::array<uint32_t, 2> weights = timesOfWeights(block);
    llvm::SmallVector<std::pair<uint32_t, Action>> timed;
    for (uint32_t chunk : {0, 1})
      for (auto [kind, begin] : {std::pair(ActionKind::Forward, block.forward[chunk]),
                                 std::pair(ActionKind::InputGradient, block.inputs[chunk]),
                                 std::pair(ActionKind::WeightGradient, weights[chunk])})
        for (uint32_t microBatch = 0; microBatch < counts.microBatches; ++microBatch)
          timed.emplace_back(begin + period * microBatch, Action{kind, lists.shape.stageOf(r, chunk), microBatch});
    llvm::sort(timed, llvm::less_first());
    for (const auto &[time, action] : timed)
      lists.workers[r].push_back({action});
  }
  return lists;
}

} // namespace

// Qi et al., "Pipeline Parallelism with Controllable Memory" (2024), section 3: building blocks in V shape.
ActionLists generateVMin(const PipelineCounts &counts) { return inOrder(counts, blockOfVMin); }

ActionLists generateVHalf(const PipelineCounts &counts) { return inOrder(counts, blockOfVHalf); }

} // namespace apc

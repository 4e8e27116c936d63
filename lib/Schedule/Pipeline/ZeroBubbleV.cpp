// ZB-V: two chunks in V placement and backward passes in two halves.
#include "Generators.h"

#include <algorithm>
#include <array>

namespace apc {

namespace {

/// The list of one worker, whose actions follow each other chunk by chunk in the order of micro-batches.
class WorkerList {
public:
  WorkerList(const PipelineShape &shape, uint32_t worker, uint32_t microBatches)
      : shape(shape), worker(worker), microBatches(microBatches) {}

  void forward(uint32_t chunk) { add(ActionKind::Forward, chunk); }
  void inputs(uint32_t chunk) { add(ActionKind::InputGradient, chunk); }
  void weights(uint32_t chunk) { add(ActionKind::WeightGradient, chunk); }
  void inputsAndWeights(uint32_t chunk) {
    inputs(chunk);
    weights(chunk);
  }
  bool hasForward(uint32_t chunk) const { return next[0][chunk] < microBatches; }
  bool hasWeights(uint32_t chunk) const { return next[2][chunk] < microBatches; }

  std::vector<Slot> slots; ///< without the micro-batches that the shape has not

private:
  void add(ActionKind kind, uint32_t chunk) {
    uint32_t microBatch = next[static_cast<size_t>(kind)][chunk]++;
    if (microBatch < shape.microBatches)
      slots.push_back({Action{kind, shape.stageOf(worker, chunk), microBatch}});
  }

  const PipelineShape &shape;
  uint32_t worker;
  uint32_t microBatches;
  std::array<std::array<uint32_t, 2>, 3> next = {}; ///< by kind and chunk
};

} // namespace

// Zero Bubble, Qi et al. (2023), section 5: "ZB-V".
ActionLists generateZeroBubbleV(const PipelineCounts &counts) {
  ActionLists lists = emptyLists(counts, Placement::V);
  uint32_t p = counts.workers;
  // The pattern needs 2p - 1 micro-batches; of fewer, the surplus is left out.
  uint32_t microBatches = std::max(counts.microBatches, 2 * p - 1);
  for (uint32_t r = 0; r < p; ++r) {
    WorkerList list(lists.shape, r, microBatches);
    auto repeat = [](uint32_t count, auto body) {
      for (uint32_t index = 0; index < count; ++index)
        body();
    };
    repeat(2 * (p - r) - 1, [&] { list.forward(0); });
    repeat(r, [&] { list.forward(1), list.forward(0); });
    repeat(p - r, [&] { list.forward(1), list.inputsAndWeights(1); });
    while (list.hasForward(1)) {
      if (list.hasForward(0))
        list.forward(0);
      list.inputsAndWeights(0);
      list.forward(1);
      list.inputsAndWeights(1);
    }
    repeat(r, [&] { list.inputs(0), list.inputs(1); });
    repeat(p - r, [&] { list.inputsAndWeights(0); });
    for (uint32_t chunk : {1, 0})
      while (list.hasWeights(chunk))
        list.weights(chunk);
    lists.workers[r] = std::move(list.slots);
  }
  return lists;
}

} // namespace apc

// DualPipe and DualPipeV: eight phases, in whose middle a forward and a backward action run interleaved.
#include "Generators.h"

#include <algorithm>
#include <array>
#include <deque>

namespace apc {

namespace {

/// The place of a worker in a pipeline of `depth` workers whose two sides, 0 and 1, meet at the last: the two chunks of
/// DualPipeV, or the two copies of DualPipe, of which side 0 is the one whose first stage is near.
struct Place {
  uint32_t depth;
  uint32_t position;
  uint32_t microBatches;          ///< of each side
  std::array<uint32_t, 2> stages; ///< of the worker, by side
};

/// DeepSeek-V3's order of one worker (its report, section 3.2.1), in eight phases.
class Phases {
public:
  explicit Phases(const Place &place) : place(place) {}

  std::vector<Slot> run() {
    uint32_t behind = place.depth - 1 - place.position, ahead = place.position + 1;
    repeat(2 * behind, [&](uint32_t) { forward(0); });
    repeat(ahead, [&](uint32_t) { forward(0), forward(1); });
    repeat(behind, [&](uint32_t) { inputs(1), weights(), forward(1); });
    repeat(place.microBatches + ahead - 2 * place.depth, [&](uint32_t turn) {
      if (turn == 0 && behind == 0)
        forward(0), backward(1); // nothing that the two could hide behind each other yet
      else
        pair(0, 1);
      pair(1, 0);
    });
    repeat(behind, [&](uint32_t) { backward(1), pair(1, 0); });
    // In its second half, the gradients of weights wait.
    repeat(ahead, [&](uint32_t turn) {
      for (uint32_t side : {1, 0}) {
        bool isSplit = 2 * turn + (side == 0) >= ahead;
        isSplit ? inputs(side) : backward(side);
      }
    });
    repeat(behind, [&](uint32_t) { weights(), inputs(0); });
    while (!waiting.empty())
      weights();
    return std::move(slots);
  }

private:
  void repeat(uint32_t count, llvm::function_ref<void(uint32_t)> body) {
    for (uint32_t turn = 0; turn < count; ++turn)
      body(turn);
  }
  Action next(ActionKind kind, uint32_t side) {
    uint32_t &count = kind == ActionKind::Forward ? forwards[side] : backwards[side];
    return {kind, place.stages[side], count++};
  }
  void forward(uint32_t side) { slots.push_back({next(ActionKind::Forward, side)}); }
  void backward(uint32_t side) { slots.push_back({next(ActionKind::Backward, side)}); }
  void pair(uint32_t forwardSide, uint32_t backwardSide) {
    Action action = next(ActionKind::Forward, forwardSide);
    slots.push_back({action, next(ActionKind::Backward, backwardSide)});
  }
  void inputs(uint32_t side) {
    Action action = next(ActionKind::InputGradient, side);
    slots.push_back({action});
    waiting.push_back({ActionKind::WeightGradient, action.stage, action.microBatch});
  }
  void weights() {
    slots.push_back({waiting.front()});
    waiting.pop_front();
  }

  const Place &place;
  std::array<uint32_t, 2> forwards = {}, backwards = {}; ///< so many by side
  std::deque<Action> waiting;                            ///< gradients of weights
  std::vector<Slot> slots;
};

} // namespace

ActionLists generateDualPipeV(const PipelineCounts &counts) {
  ActionLists lists = emptyLists(counts, Placement::V);
  for (uint32_t worker = 0; worker < counts.workers; ++worker)
    lists.workers[worker] = Phases({counts.workers,
                                    worker,
                                    counts.microBatches,
                                    {lists.shape.stageOf(worker, 0), lists.shape.stageOf(worker, 1)}})
                                .run();
  return lists;
}

ActionLists generateDualPipe(const PipelineCounts &counts) {
  ActionLists lists = emptyLists(counts, Placement::Mirrored);
  for (uint32_t worker = 0; worker < counts.workers; ++worker) {
    std::array<uint32_t, 2> stages = {lists.shape.stageOf(worker, 0), lists.shape.stageOf(worker, 1)};
    uint32_t fromEnd = counts.workers - 1 - worker;
    if (fromEnd < worker)
      std::swap(stages[0], stages[1]);
    lists.workers[worker] =
        Phases({counts.workers / 2, std::min(worker, fromEnd), lists.shape.microBatches, stages}).run();
  }
  return lists;
}

} // namespace apc

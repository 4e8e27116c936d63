// Chimera: two copies of the model that run towards each other, each in 1F1B.
#include "Generators.h"

#include <array>
#include <tuple>

namespace apc {

namespace {

/// Merges the 1F1B lists of both copies for as many micro-batches as workers. Time passes in units: forward and
/// backward actions take one each. A worker takes of its two next actions one that can begin; of two, the earlier
/// micro-batch's, then the one nearer to the end of its copy.
class Merge {
public:
  explicit Merge(uint32_t workers)
      : lists(emptyLists({.workers = workers, .microBatches = workers, .chunks = 2}, Placement::Mirrored)) {
    ActionLists single = generateOneForwardOneBackward({.workers = workers, .microBatches = workers / 2});
    ends.assign(2, std::vector<uint32_t>(size_t(2) * workers * workers / 2, never));
    for (uint32_t worker = 0; worker < workers; ++worker)
      for (uint32_t copy : {0, 1}) {
        uint32_t stage = lists.shape.stageOf(worker, copy);
        for (Slot slot : single.workers[stage - copy * workers]) {
          slot.action.stage = stage;
          waiting[copy].resize(workers);
          waiting[copy][worker].push_back(slot.action);
        }
      }
    next = {std::vector<size_t>(workers), std::vector<size_t>(workers)};
  }

  ActionLists run() {
    size_t numLeft = size_t(2) * lists.shape.workers * lists.shape.workers;
    for (uint32_t now = 0; numLeft > 0; ++now)
      for (uint32_t worker = 0; worker < lists.shape.workers; ++worker)
        numLeft -= act(worker, now);
    return std::move(lists);
  }

private:
  static constexpr uint32_t never = UINT32_MAX;

  uint32_t &endOf(ActionKind kind, uint32_t stage, uint32_t microBatch) {
    return ends[kind == ActionKind::Backward][size_t(stage) * lists.shape.microBatches + microBatch];
  }

  bool canBegin(const Action &action, uint32_t now) {
    const PipelineShape &shape = lists.shape;
    if (action.kind == ActionKind::Forward) {
      bool isFirst = action.stage == 0 || !shape.feedsNext(action.stage - 1);
      return isFirst || endOf(action.kind, action.stage - 1, action.microBatch) <= now;
    }
    return !shape.feedsNext(action.stage) || endOf(action.kind, action.stage + 1, action.microBatch) <= now;
  }

  /// Whether the worker found an action to run.
  bool act(uint32_t worker, uint32_t now) {
    const Action *chosen = nullptr;
    uint32_t chosenCopy = 0;
    auto key = [&](const Action &action) {
      return std::tuple(action.microBatch, lists.shape.workers - action.stage % lists.shape.workers);
    };
    for (uint32_t copy : {0, 1}) {
      if (next[copy][worker] == waiting[copy][worker].size())
        continue;
      const Action &action = waiting[copy][worker][next[copy][worker]];
      if (canBegin(action, now) && (!chosen || key(action) < key(*chosen))) {
        chosen = &action;
        chosenCopy = copy;
      }
    }
    if (!chosen)
      return false;
    endOf(chosen->kind, chosen->stage, chosen->microBatch) = now + 1;
    lists.workers[worker].push_back({*chosen});
    ++next[chosenCopy][worker];
    return true;
  }

  ActionLists lists;
  std::array<std::vector<std::vector<Action>>, 2> waiting; ///< by copy and worker
  std::array<std::vector<size_t>, 2> next;
  std::vector<std::vector<uint32_t>> ends; ///< of forward and backward actions, by stage and micro-batch
};

} // namespace

// Chimera, Li and Hoefler (2021), section 3.1; more micro-batches than workers are "direct concatenation" (3.5).
ActionLists generateChimera(const PipelineCounts &counts) {
  ActionLists lists = emptyLists(counts, Placement::Mirrored);
  ActionLists round = Merge(counts.workers).run();
  for (uint32_t first = 0; first < lists.shape.microBatches; first += round.shape.microBatches)
    for (uint32_t worker = 0; worker < counts.workers; ++worker)
      for (Slot slot : round.workers[worker]) {
        slot.action.microBatch += first;
        lists.workers[worker].push_back(slot);
      }
  return lists;
}

} // namespace apc

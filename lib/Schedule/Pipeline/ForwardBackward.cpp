// Schedules that are an order of forward actions, an order of backward actions, and a number of forward actions to
// begin with: GPipe and breadth first, 1F1B, interleaved, with sequence pieces, and the ones with split backward
// passes.
#include "Generators.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>

namespace apc {

namespace {

/// An action's chunk, micro-batch and piece.
struct Unit {
  uint32_t chunk, microBatch, piece;
};

enum class Direction : uint8_t { Forward, Backward };

/// Units in groups of micro-batches: for each group its chunks in turn, for each chunk the group's micro-batches, for
/// each of these its pieces. Backwards chunks and pieces descend.
std::vector<Unit> orderOf(llvm::ArrayRef<uint32_t> groups, const PipelineShape &shape, Direction direction) {
  std::vector<Unit> order;
  auto turned = [&](uint32_t index, uint32_t count) {
    return direction == Direction::Forward ? index : count - 1 - index;
  };
  uint32_t first = 0;
  for (uint32_t size : groups) {
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (uint32_t microBatch = first; microBatch < first + size; ++microBatch)
        for (uint32_t piece = 0; piece < shape.pieces; ++piece)
          order.push_back({turned(chunk, shape.chunks), microBatch, turned(piece, shape.pieces)});
    first += size;
  }
  return order;
}

/// Groups of `size`; the last has the rest.
std::vector<uint32_t> groupsOf(uint32_t microBatches, uint32_t size) {
  std::vector<uint32_t> groups(microBatches / size, size);
  if (microBatches % size)
    groups.push_back(microBatches % size);
  return groups;
}

/// Groups of `size` at least: the rest is spread over them, one by one.
std::vector<uint32_t> spreadGroups(uint32_t microBatches, uint32_t size) {
  uint32_t numGroups = std::max(1U, microBatches / size);
  std::vector<uint32_t> groups(numGroups, microBatches / numGroups);
  for (uint32_t index = 0; index < microBatches % numGroups; ++index)
    ++groups[index];
  return groups;
}

/// Both orders of one worker, and how it mixes them.
struct Mix {
  std::vector<Unit> forward, backward;
  size_t warmUp = 0;
  /// Backward passes are split. The gradients of weights of a backward pass follow its I, or that of a later one: the
  /// first so many I stand alone.
  std::optional<uint32_t> lateWeights = std::nullopt;
};

/// `warmUp` forward actions; forward and backward in turn; the backward actions that are left.
std::vector<Slot> mixed(const PipelineShape &shape, uint32_t worker, const Mix &mix) {
  std::vector<Slot> slots;
  auto add = [&](ActionKind kind, const Unit &unit) {
    slots.push_back({Action{kind, shape.stageOf(worker, unit.chunk), unit.microBatch, unit.piece}});
  };
  size_t nextForward = 0, nextWeights = 0;
  while (nextForward < std::min(mix.warmUp, mix.forward.size()))
    add(ActionKind::Forward, mix.forward[nextForward++]);
  for (size_t next = 0; next < mix.backward.size(); ++next) {
    if (nextForward < mix.forward.size())
      add(ActionKind::Forward, mix.forward[nextForward++]);
    add(mix.lateWeights ? ActionKind::InputGradient : ActionKind::Backward, mix.backward[next]);
    if (mix.lateWeights && next >= *mix.lateWeights)
      add(ActionKind::WeightGradient, mix.backward[nextWeights++]);
  }
  while (mix.lateWeights && nextWeights < mix.backward.size())
    add(ActionKind::WeightGradient, mix.backward[nextWeights++]);
  return slots;
}

Mix ordersOf(const PipelineCounts &counts, llvm::ArrayRef<uint32_t> groups) {
  PipelineShape shape = emptyLists(counts, Placement::Loop).shape;
  return {orderOf(groups, shape, Direction::Forward), orderOf(groups, shape, Direction::Backward)};
}

/// Every worker mixes the same orders; `finish` sets its warm-up.
ActionLists mixedLists(const PipelineCounts &counts, Mix mix, llvm::function_ref<void(Mix &, uint32_t)> finish) {
  ActionLists lists = emptyLists(counts, Placement::Loop);
  for (uint32_t worker = 0; worker < counts.workers; ++worker) {
    finish(mix, worker);
    lists.workers[worker] = mixed(lists.shape, worker, mix);
  }
  return lists;
}

/// All forward actions first.
ActionLists filled(const PipelineCounts &counts, const Mix &orders) {
  return mixedLists(counts, orders, [&](Mix &mix, uint32_t) { mix.warmUp = mix.forward.size(); });
}

/// The forward actions with which `worker` begins: those of all chunks but the last for a group, and more the farther
/// it is from the end.
size_t warmUpOf(const PipelineCounts &counts, uint32_t worker, uint32_t groupSize, uint32_t defaultFactor) {
  return size_t(counts.warmUpFactor.value_or(defaultFactor)) * (counts.workers - 1 - worker) +
         size_t(counts.chunks - 1) * groupSize * counts.pieces + counts.pieces - 1;
}

ActionLists warmedUp(const PipelineCounts &counts, llvm::ArrayRef<uint32_t> groups, uint32_t defaultFactor) {
  return mixedLists(counts, ordersOf(counts, groups), [&](Mix &mix, uint32_t worker) {
    mix.warmUp = warmUpOf(counts, worker, groups.front(), defaultFactor);
  });
}

ActionLists splitting(const PipelineCounts &counts, uint32_t groupSize, uint32_t defaultFactor) {
  uint32_t factor = counts.warmUpFactor.value_or(defaultFactor);
  std::vector<uint32_t> groups = groupsOf(counts.microBatches, groupSize);
  return mixedLists(counts, ordersOf(counts, groups), [&](Mix &mix, uint32_t worker) {
    mix.warmUp = warmUpOf(counts, worker, groupSize, defaultFactor);
    mix.lateWeights = factor * worker;
  });
}

} // namespace

ActionLists emptyLists(const PipelineCounts &counts, Placement placement) {
  uint32_t microBatches = placement == Placement::Mirrored ? counts.microBatches / 2 : counts.microBatches;
  return {{placement, counts.workers, counts.chunks, microBatches, counts.pieces},
          std::vector<std::vector<Slot>>(counts.workers)};
}

bool hasShortWarmUp(const PipelineCounts &counts) { return counts.warmUpFactor.value_or(2) < 2; }

uint32_t groupSizeOf(const PipelineCounts &counts) { return counts.groupSize.value_or(counts.workers); }

bool takesGroupsOf(uint32_t size, const PipelineCounts &counts, bool isShort) {
  const uint32_t rest = size == 0 ? 0 : counts.microBatches % size;
  return size >= counts.workers && size <= counts.microBatches && (rest == 0 || (!isShort && rest >= counts.workers));
}

uint32_t interleavedSizeOf(const PipelineCounts &counts, bool isShort) {
  if (counts.groupSize)
    return *counts.groupSize;
  for (uint32_t size = counts.workers; size <= counts.microBatches; ++size)
    if (takesGroupsOf(size, counts, isShort))
      return size;
  return counts.workers;
}

uint32_t roundSizeOf(const PipelineCounts &counts) {
  return counts.groupSize.value_or(counts.microBatches / std::max(1U, counts.microBatches / counts.workers));
}

uint32_t pieceGroupSizeOf(const PipelineCounts &counts) {
  return counts.groupSize.value_or((counts.workers + counts.pieces - 1) / counts.pieces);
}

ActionLists generateGpipe(const PipelineCounts &counts) {
  return filled(counts, ordersOf(counts, counts.microBatches));
}

ActionLists generateBreadthFirst(const PipelineCounts &counts) {
  Mix mix = ordersOf(counts, counts.microBatches);
  for (Unit &unit : mix.backward) // chunks descend, and in each the micro-batches
    unit.microBatch = counts.microBatches - 1 - unit.microBatch;
  return filled(counts, mix);
}

ActionLists generateOneForwardOneBackward(const PipelineCounts &counts) {
  return warmedUp(counts, counts.microBatches, 1);
}

ActionLists generateEager(const PipelineCounts &counts) { return warmedUp(counts, counts.microBatches, 2); }

ActionLists generateInterleaved(const PipelineCounts &counts) {
  const uint32_t size = interleavedSizeOf(counts, hasShortWarmUp(counts));
  return warmedUp(counts, groupsOf(counts.microBatches, size), 2);
}

ActionLists generateShortInterleaved(const PipelineCounts &counts) {
  const uint32_t size = interleavedSizeOf(counts, /*isShort=*/true);
  return warmedUp(counts, groupsOf(counts.microBatches, size), 1);
}

ActionLists generateSequence(const PipelineCounts &counts) {
  return warmedUp(counts, spreadGroups(counts.microBatches, groupSizeOf(counts)), counts.chunks == 1 ? 1 : 2);
}

ActionLists generateInterleavedSequence(const PipelineCounts &counts) {
  return warmedUp(counts, spreadGroups(counts.microBatches, pieceGroupSizeOf(counts)), 2);
}

ActionLists generateShortSequence(const PipelineCounts &counts) {
  return warmedUp(counts, spreadGroups(counts.microBatches, pieceGroupSizeOf(counts)), 1);
}

ActionLists generateZeroBubble1(const PipelineCounts &counts) { return splitting(counts, counts.microBatches, 1); }

ActionLists generateZeroBubble2(const PipelineCounts &counts) { return splitting(counts, counts.microBatches, 2); }

ActionLists generateInterleavedZeroBubble(const PipelineCounts &counts) {
  return splitting(counts, roundSizeOf(counts), 1);
}

} // namespace apc

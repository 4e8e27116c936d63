// Parts of a stage's program, and what crosses from one to the next.
#include "ProgramMemory.h"

#include "apc/Cost/MemoryOfStage.h"

#include <algorithm>

using namespace llvm;

namespace apc {

namespace {

/// The first op behind all micro-batches: of several behind the last that runs with each; of one the first that
/// replaces a parameter or a state.
size_t beginOfUpdate(const OpGraph &graph, const Timeline &time) {
  if (graph.microBatches() > 1)
    return lastOfMicroBatches(graph, time) + 1;
  size_t begin = time.size();
  for (const GraphValue &value : graph.values)
    if (value.replaces)
      begin = std::min(begin, time.at(value.producer));
  return begin;
}

/// The fullest moment from op \p begin to op \p end, without that; what is held where there are none.
MemoryTable peakWithin(const ProgramMemory &memory, size_t begin, size_t end) {
  if (begin >= end)
    return memory.held;
  std::vector<LiveInterval> live;
  for (LiveInterval own : memory.live)
    if (own.begin < end && own.end >= begin) {
      own.begin = std::max(own.begin, begin) - begin;
      own.end = std::min(own.end, end - 1) - begin;
      live.push_back(own);
    }
  return stepMemory(memory.held, live, ArrayRef(memory.ops).slice(begin, end - begin));
}

/// Adds a value, of activations with the fragments that an allocator of such a \p share leaves.
void add(const LiveInterval &own, double share, MemoryTable &table) {
  MemoryTable bytes;
  bytes[own.category] += own.bytes;
  bytes[MemoryCategory::Runtime] += fragmentsOf(own, share);
  table += bytes;
}

} // namespace

MemoryOfStage memoryOfStage(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model,
                            ArrayRef<GraphMove> moves, ArrayRef<MoveBucket> buckets) {
  const Timeline time(graph, moves, buckets);
  const ProgramMemory memory = programMemory(graph, strategies, model, moves, buckets, time);
  const size_t update = beginOfUpdate(graph, time);
  const size_t backward = graph.inFlight ? time.at(graph.inFlight->backward) : update;
  const bool isSplit = graph.inFlight && graph.inFlight->weights;
  const size_t weights = isSplit ? time.at(*graph.inFlight->weights) : update;
  MemoryOfStage parts;
  parts.idle = memory.held;
  const double share = model.getPool().runtime.allocatorShare;
  const std::vector<bool> isWeight = graph.weights();
  for (const auto &[own, value] : zip(memory.live, memory.values)) {
    auto isHeldAt = [&, own = own](size_t at) { return own.begin < at && at <= own.end; };
    const bool isAtBackward = isHeldAt(backward), isAtWeights = isSplit && isHeldAt(weights);
    const bool isSum = graph.isAccumulated(value.value) && !value.isCopy;
    const bool isShared = isWeight[value.value.index()] && (isAtBackward || isAtWeights);
    if (isSum || isShared || (own.begin == 0 && own.end >= update))
      add(own, share, parts.idle);
    else if (isHeldAt(update))
      add(own, share, parts.done);
    if (isAtBackward && !graph.isAccumulated(value.value) && !isShared)
      add(own, share, parts.atBackward);
    if (isAtWeights && !graph.isAccumulated(value.value) && !isShared)
      add(own, share, parts.atWeights);
  }
  parts.pass = peakWithin(memory, 0, weights);
  parts.weights = isSplit ? peakWithin(memory, weights, update) : parts.idle;
  parts.update = peakWithin(memory, update, time.size());
  if (model.getPool().runtime.cachesBlocks)
    parts.blockBytes = bytesOfBlocks(memory.blocks, model.getPool().device.memoryBytes);
  return parts;
}

} // namespace apc

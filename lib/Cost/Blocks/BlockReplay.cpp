// Steps replayed in the allocator, with less and less memory.
#include "BlockReplay.h"

#include "CachingAllocator.h"

#include <algorithm>

namespace apc {

namespace {

/// A request, or the return of one. Requests that are alive together have numbers of their own.
struct BlockEvent {
  int64_t bytes;
  uint32_t request;
  bool isTaken;
};

struct BlockEvents {
  std::vector<BlockEvent> events;
  std::vector<int64_t> bytes;     ///< by request
  std::vector<uint32_t> returned; ///< numbers that the next requests take

  uint32_t take(int64_t size) {
    auto request = static_cast<uint32_t>(bytes.size());
    if (returned.empty()) {
      bytes.push_back(size);
    } else {
      request = returned.back();
      returned.pop_back();
      bytes[request] = size;
    }
    events.push_back({size, request, true});
    return request;
  }
  void giveBack(uint32_t request) {
    events.push_back({bytes[request], request, false});
    returned.push_back(request);
  }
};

/// The requests of two steps in their order.
class StepReplay {
public:
  explicit StepReplay(const BlockProgram &program)
      : program(program), takes(program.numMoments), gives(program.numMoments),
        slots(static_cast<size_t>(program.others) + 1), requests(program.uses.size()) {
    for (size_t use = 0; use < program.uses.size(); ++use) {
      const BlockUse &own = program.uses[use];
      if (own.bytes <= 0)
        continue;
      requests[use].resize(own.staysFor > 0 ? own.staysFor : slots);
      takes[own.begin].push_back(use);
      if (own.staysFor == 0)
        gives[endOf(own)].push_back(use);
    }
  }

  BlockEvents run() {
    takeAll(program.held);
    runStep();
    takeAll(program.made);
    giveBackStaying();
    runStep();
    return std::move(step);
  }

private:
  void takeAll(const std::vector<int64_t> &sizes) {
    for (int64_t bytes : sizes)
      if (bytes > 0)
        step.take(bytes);
  }
  /// Micro-batches of a step that are replayed.
  size_t numReplayed() const {
    constexpr int64_t mostReplayed = 3;
    return static_cast<size_t>(std::min<int64_t>(program.microBatches, program.others + mostReplayed));
  }
  void runStep() {
    const size_t repeated = program.numRepeated, number = numReplayed();
    auto others = static_cast<size_t>(program.others);
    for (size_t next = 0; next < number + others; ++next) {
      if (next < number)
        runMoments(0, program.backward, next);
      if (next >= others && next - others < number)
        runMoments(program.backward, repeated, next - others);
    }
    runMoments(repeated, program.numMoments, 0);
  }
  /// Memory that stays from one micro-batch to another goes when the next step begins.
  void giveBackStaying() {
    for (size_t use = 0; use < program.uses.size(); ++use)
      for (size_t slot = 0; program.uses[use].staysFor > 0 && slot < requests[use].size(); ++slot)
        if (slot < numReplayed())
          step.giveBack(requests[use][slot]);
  }
  /// Memory that a micro-batch takes does not outlive it, and memory that is kept for all of them outlives them.
  size_t endOf(const BlockUse &use) const {
    size_t lastRepeated = program.numRepeated - 1;
    if (use.isOfMicroBatch)
      return std::max(use.begin, std::min(use.end, lastRepeated));
    return use.begin < program.numRepeated && use.end < program.numRepeated ? program.numMoments - 1 : use.end;
  }
  void runMoments(size_t begin, size_t end, size_t microBatch) {
    for (size_t at = begin; at < end; ++at) {
      for (size_t use : takes[at])
        take(use, microBatch);
      for (uint32_t request : addends)
        step.giveBack(request);
      addends.clear();
      for (size_t use : gives[at])
        step.giveBack(requests[use][program.uses[use].isOfMicroBatch ? microBatch % slots : 0]);
    }
  }
  void take(size_t use, size_t microBatch) {
    const BlockUse &own = program.uses[use];
    if (!own.isOfMicroBatch && microBatch > 0) {
      if (own.addsUp)
        addends.push_back(step.take(own.bytes));
      return;
    }
    uint32_t &request = requests[use][own.isOfMicroBatch ? microBatch % requests[use].size() : 0];
    const uint32_t before = request;
    request = step.take(own.bytes);
    if (own.staysFor > 0 && microBatch >= own.staysFor)
      step.giveBack(before);
  }

  const BlockProgram &program;
  std::vector<std::vector<size_t>> takes, gives; ///< by moment: uses
  size_t slots;
  std::vector<std::vector<uint32_t>> requests; ///< by use and micro-batch in flight
  std::vector<uint32_t> addends;               ///< of this moment
  BlockEvents step;
};

/// A replay that has come to an event.
struct ReplayState {
  CachingAllocator allocator;
  std::vector<CachingAllocator::BlockId> blocks; ///< by request
  size_t next = 0;                               ///< event
};

struct Replayed {
  std::optional<int64_t> most;       ///< bytes of segments at once; none where memory is short
  std::optional<ReplayState> atMark; ///< in front of the first event that asks for more than the mark
};

/// From \p state on, in a memory of \p limit.
Replayed replay(const BlockEvents &step, ReplayState state, int64_t limit, int64_t mark) {
  Replayed result;
  CachingAllocator &allocator = state.allocator;
  int64_t most = allocator.reserved();
  for (; state.next < step.events.size(); ++state.next) {
    const BlockEvent event = step.events[state.next];
    if (!event.isTaken) {
      allocator.giveBack(state.blocks[event.request]);
      continue;
    }
    std::optional<CachingAllocator::BlockId> block = allocator.takeFree(event.bytes);
    if (!block) {
      if (!result.atMark && !allocator.hasRoom(event.bytes, mark))
        result.atMark = state;
      block = allocator.takeSegment(event.bytes, limit);
    }
    if (!block)
      return result;
    state.blocks[event.request] = *block;
    most = std::max(most, allocator.reserved());
  }
  result.most = most;
  return result;
}

int64_t mostAlive(const BlockEvents &step) {
  int64_t alive = 0, most = 0;
  for (BlockEvent event : step.events) {
    alive += event.isTaken ? event.bytes : -event.bytes;
    most = std::max(most, alive);
  }
  return most;
}

} // namespace

int64_t bytesOfBlocks(const BlockProgram &program, int64_t memoryBytes) {
  const BlockEvents step = StepReplay(program).run();
  constexpr int64_t steps = 400;
  int64_t low = mostAlive(step);
  if (low > memoryBytes)
    return low;
  // Every memory of more than `low` runs alike until more than `low` is asked for.
  ReplayState start{{}, std::vector<CachingAllocator::BlockId>(step.bytes.size())};
  Replayed first = replay(step, start, INT64_MAX / 2, low);
  int64_t high = *first.most;
  if (first.atMark)
    start = std::move(*first.atMark);
  while (high - low > high / steps) {
    int64_t middle = low + (high - low) / 2;
    Replayed within = replay(step, start, middle, middle);
    if (within.most) {
      high = std::min(middle, *within.most);
    } else {
      low = middle;
      start = std::move(*within.atMark);
    }
  }
  return high;
}

} // namespace apc

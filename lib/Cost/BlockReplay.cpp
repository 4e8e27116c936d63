// PyTorch's caching allocator as of 2023, for one stream, with its pools of small and of large requests.
#include "BlockReplay.h"

#include <algorithm>
#include <optional>
#include <set>

namespace apc {

namespace {

constexpr int64_t kib = 1024, mib = 1024 * kib;
/// c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize, kSmallSize, kSmallBuffer, kMinLargeAlloc,
/// kLargeBuffer, kRoundLarge.
constexpr int64_t granularity = 512, smallBytes = mib, smallSegmentBytes = 2 * mib, largeBytes = 10 * mib,
                  segmentBytes = 20 * mib, largeGranularity = 2 * mib;

constexpr int64_t roundedUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

using BlockId = uint32_t;

class CachingAllocator {
public:
  explicit CachingAllocator(int64_t limit) : limit(limit) {}

  /// None where memory is short.
  std::optional<BlockId> take(int64_t bytes) {
    bytes = roundedUp(bytes, granularity);
    std::set<std::pair<int64_t, BlockId>> &free = freeOf(bytes <= smallBytes);
    auto found = free.lower_bound({bytes, 0});
    std::optional<BlockId> block = found != free.end() ? std::optional(found->second) : segmentFor(bytes);
    if (block && found != free.end())
      setFree(*block, false);
    if (block)
      cut(*block, bytes);
    return block;
  }

  void giveBack(BlockId block) {
    join(block, blocks[block].next);
    if (std::optional<BlockId> previous = blocks[block].previous; previous && blocks[*previous].isFree) {
      setFree(*previous, false);
      blocks[*previous].bytes += blocks[block].bytes;
      link(*previous, blocks[block].next);
      block = *previous;
    }
    setFree(block, true);
  }

  int64_t reserved() const { return reservedBytes; }

private:
  struct Block {
    int64_t bytes = 0;
    std::optional<BlockId> previous = {}, next = {};
    bool isFree = false, isSmall = false;
  };

  std::set<std::pair<int64_t, BlockId>> &freeOf(bool isSmall) { return isSmall ? freeSmall : freeLarge; }

  void setFree(BlockId block, bool isFree) {
    std::set<std::pair<int64_t, BlockId>> &free = freeOf(blocks[block].isSmall);
    blocks[block].isFree = isFree;
    if (isFree)
      free.insert({blocks[block].bytes, block});
    else
      free.erase({blocks[block].bytes, block});
  }
  void link(BlockId block, std::optional<BlockId> next) {
    blocks[block].next = next;
    if (next)
      blocks[*next].previous = block;
  }
  /// The block takes up the one behind it, if that is free.
  void join(BlockId block, std::optional<BlockId> next) {
    if (!next || !blocks[*next].isFree)
      return;
    setFree(*next, false);
    blocks[block].bytes += blocks[*next].bytes;
    link(block, blocks[*next].next);
  }
  void cut(BlockId block, int64_t bytes) {
    int64_t rest = blocks[block].bytes - bytes;
    const bool isSmall = blocks[block].isSmall;
    if (isSmall ? rest < granularity : rest <= smallBytes)
      return;
    auto behind = static_cast<BlockId>(blocks.size());
    blocks.push_back({rest, block, blocks[block].next, /*isFree=*/false, isSmall});
    link(behind, blocks[block].next);
    link(block, behind);
    blocks[block].bytes = bytes;
    setFree(behind, true);
  }
  std::optional<BlockId> segmentFor(int64_t bytes) {
    const bool isSmall = bytes <= smallBytes;
    int64_t segment = isSmall              ? smallSegmentBytes
                      : bytes < largeBytes ? segmentBytes
                                           : roundedUp(bytes, largeGranularity);
    if (reservedBytes + segment > limit)
      giveSegmentsBack();
    if (reservedBytes + segment > limit)
      return std::nullopt;
    reservedBytes += segment;
    blocks.push_back({segment, {}, {}, /*isFree=*/false, isSmall});
    return static_cast<BlockId>(blocks.size() - 1);
  }
  void giveSegmentsBack() {
    giveSegmentsBack(freeLarge);
    giveSegmentsBack(freeSmall);
  }
  void giveSegmentsBack(std::set<std::pair<int64_t, BlockId>> &free) {
    for (auto each = free.begin(); each != free.end();) {
      const Block &block = blocks[each->second];
      bool isWhole = !block.previous && !block.next;
      reservedBytes -= isWhole ? block.bytes : 0;
      each = isWhole ? free.erase(each) : std::next(each);
    }
  }

  int64_t limit, reservedBytes = 0;
  std::vector<Block> blocks;
  std::set<std::pair<int64_t, BlockId>> freeSmall, freeLarge;
};

/// A request, or the return of one; by its number among all requests.
struct BlockEvent {
  uint32_t request;
  bool isTaken;
};

struct BlockEvents {
  std::vector<BlockEvent> events;
  std::vector<int64_t> bytes; ///< by request

  uint32_t take(int64_t size) {
    auto request = static_cast<uint32_t>(bytes.size());
    bytes.push_back(size);
    events.push_back({request, true});
    return request;
  }
  void giveBack(uint32_t request) { events.push_back({request, false}); }
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

/// The most bytes of segments at once; none where the events do not run within `limit`.
std::optional<int64_t> mostReserved(const BlockEvents &step, int64_t limit) {
  CachingAllocator allocator(limit);
  std::vector<BlockId> blocks(step.bytes.size());
  int64_t most = 0;
  for (BlockEvent event : step.events) {
    if (!event.isTaken) {
      allocator.giveBack(blocks[event.request]);
      continue;
    }
    std::optional<BlockId> block = allocator.take(step.bytes[event.request]);
    if (!block)
      return std::nullopt;
    blocks[event.request] = *block;
    most = std::max(most, allocator.reserved());
  }
  return most;
}

int64_t mostAlive(const BlockEvents &step) {
  int64_t alive = 0, most = 0;
  for (BlockEvent event : step.events) {
    alive += event.isTaken ? step.bytes[event.request] : -step.bytes[event.request];
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
  int64_t high = *mostReserved(step, INT64_MAX / 2);
  while (high - low > high / steps) {
    int64_t middle = low + (high - low) / 2;
    if (std::optional<int64_t> most = mostReserved(step, middle))
      high = std::min(middle, *most);
    else
      low = middle;
  }
  return high;
}

} // namespace apc

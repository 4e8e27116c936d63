// Segments cut into blocks, and blocks joined again.
#include "CachingAllocator.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

constexpr int64_t kib = 1024, mib = 1024 * kib;
/// c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize, kSmallSize, kSmallBuffer, kMinLargeAlloc,
/// kLargeBuffer, kRoundLarge.
constexpr int64_t granularity = 512, smallBytes = mib, smallSegmentBytes = 2 * mib, largeBytes = 10 * mib,
                  segmentBytes = 20 * mib, largeGranularity = 2 * mib;

constexpr int64_t roundedUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

/// Of a request, which may not be rounded yet.
constexpr int64_t blockBytes(int64_t bytes) { return roundedUp(bytes, granularity); }
constexpr bool isSmallBlock(int64_t bytes) { return blockBytes(bytes) <= smallBytes; }

constexpr int64_t segmentFor(int64_t bytes) {
  return isSmallBlock(bytes)              ? smallSegmentBytes
         : blockBytes(bytes) < largeBytes ? segmentBytes
                                          : roundedUp(bytes, largeGranularity);
}

} // namespace

std::optional<CachingAllocator::BlockId> CachingAllocator::takeFree(int64_t bytes) {
  FreeBlocks &free = freeOf(isSmallBlock(bytes));
  auto found = llvm::lower_bound(free, std::pair(blockBytes(bytes), BlockId(0)));
  if (found == free.end())
    return std::nullopt;
  const BlockId block = found->second;
  blocks[block].isFree = false;
  free.erase(found);
  cut(block, blockBytes(bytes));
  return block;
}

bool CachingAllocator::hasRoom(int64_t bytes, int64_t limit) const {
  return reservedBytes + segmentFor(bytes) <= limit;
}

std::optional<CachingAllocator::BlockId> CachingAllocator::takeSegment(int64_t bytes, int64_t limit) {
  if (!hasRoom(bytes, limit)) {
    giveSegmentsBack(freeLarge);
    giveSegmentsBack(freeSmall);
  }
  if (!hasRoom(bytes, limit))
    return std::nullopt;
  reservedBytes += segmentFor(bytes);
  const auto block = static_cast<BlockId>(blocks.size());
  blocks.push_back({segmentFor(bytes), none, none, /*isFree=*/false, isSmallBlock(bytes)});
  cut(block, blockBytes(bytes));
  return block;
}

void CachingAllocator::giveBack(BlockId block) {
  if (const BlockId next = blocks[block].next; next != none && blocks[next].isFree) {
    setTaken(next);
    joinNext(block);
  }
  if (const BlockId previous = blocks[block].previous; previous != none && blocks[previous].isFree) {
    setTaken(previous);
    joinNext(previous);
    block = previous;
  }
  setFree(block);
}

void CachingAllocator::setFree(BlockId block) {
  FreeBlocks &free = freeOf(blocks[block].isSmall);
  const std::pair own(blocks[block].bytes, block);
  blocks[block].isFree = true;
  free.insert(llvm::lower_bound(free, own), own);
}

void CachingAllocator::setTaken(BlockId block) {
  FreeBlocks &free = freeOf(blocks[block].isSmall);
  blocks[block].isFree = false;
  free.erase(llvm::lower_bound(free, std::pair(blocks[block].bytes, block)));
}

void CachingAllocator::link(BlockId block, BlockId next) {
  blocks[block].next = next;
  if (next != none)
    blocks[next].previous = block;
}

void CachingAllocator::joinNext(BlockId block) {
  const BlockId next = blocks[block].next;
  blocks[block].bytes += blocks[next].bytes;
  link(block, blocks[next].next);
}

void CachingAllocator::cut(BlockId block, int64_t bytes) {
  const int64_t rest = blocks[block].bytes - bytes;
  const bool isSmall = blocks[block].isSmall;
  if (isSmall ? rest < granularity : rest <= smallBytes)
    return;
  const auto behind = static_cast<BlockId>(blocks.size());
  blocks.push_back({rest, block, none, /*isFree=*/false, isSmall});
  link(behind, blocks[block].next);
  link(block, behind);
  blocks[block].bytes = bytes;
  setFree(behind);
}

void CachingAllocator::giveSegmentsBack(FreeBlocks &free) {
  llvm::erase_if(free, [&](const std::pair<int64_t, BlockId> &each) {
    const Block &block = blocks[each.second];
    const bool isWhole = block.previous == none && block.next == none;
    reservedBytes -= isWhole ? block.bytes : 0;
    return isWhole;
  });
}

} // namespace apc

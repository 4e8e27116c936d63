// PyTorch's caching allocator as of 2023, for one stream, with its pools of small and of large requests.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace apc {

/// A value: a copy goes on by itself.
class CachingAllocator {
public:
  using BlockId = uint32_t;

  /// The smallest free block that holds so many bytes, cut to them; none where there is none.
  std::optional<BlockId> takeFree(int64_t bytes);
  /// A segment for so many bytes does not take more than \p limit in all.
  bool hasRoom(int64_t bytes, int64_t limit) const;
  /// A block of a new segment. Where that takes more than \p limit, free segments are given back first; none where it
  /// does so even then.
  std::optional<BlockId> takeSegment(int64_t bytes, int64_t limit);
  void giveBack(BlockId block);
  /// Bytes of segments.
  int64_t reserved() const { return reservedBytes; }

private:
  static constexpr BlockId none = ~BlockId(0);

  struct Block {
    int64_t bytes = 0;
    BlockId previous = none, next = none; ///< in its segment
    bool isFree = false, isSmall = false;
  };

  /// Ascending by bytes, then by number. Few blocks are free at once.
  using FreeBlocks = std::vector<std::pair<int64_t, BlockId>>;

  FreeBlocks &freeOf(bool isSmall) { return isSmall ? freeSmall : freeLarge; }
  void setFree(BlockId block);
  void setTaken(BlockId block);
  void link(BlockId block, BlockId next);
  /// The block takes up the one behind it.
  void joinNext(BlockId block);
  void cut(BlockId block, int64_t bytes);
  void giveSegmentsBack(FreeBlocks &free);

  int64_t reservedBytes = 0;
  std::vector<Block> blocks;
  FreeBlocks freeSmall, freeLarge;
};

} // namespace apc

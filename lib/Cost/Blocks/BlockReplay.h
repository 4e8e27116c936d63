// The memory that a caching allocator takes for a step, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace apc {

/// Memory that is taken at one moment of a program and given back behind another: the moves in front of an op are a
/// moment, and the op is the next.
struct BlockUse {
  size_t begin = 0, end = 0;
  int64_t bytes = 0;
  bool isOfMicroBatch = true; ///< taken and given back by each; else taken by the first, and kept for all
  size_t staysFor = 0;        ///< not given back at `end`, but when so many micro-batches later the next is there
  bool addsUp = false;        ///< kept for all: the others take as much beside it at `begin`, add it, and give it back
};

/// The requests of a step to an allocator.
struct BlockProgram {
  std::vector<int64_t> held; ///< bytes of what is there before the first step and stays: parameters, their masters
  std::vector<int64_t> made; ///< bytes of what the first step makes at its end, and stays: moments of an optimizer
  std::vector<BlockUse> uses;
  size_t numMoments = 0;
  size_t numRepeated = 0;   ///< that each micro-batch runs, the first ones; the others run once, behind them
  size_t backward = 0;      ///< the first of the backward pass
  int64_t microBatches = 1; ///< of the step
  int64_t others = 0;       ///< that have run forward when another runs backward
};

/// The least bytes of a device with which PyTorch's caching allocator runs \p program, to 0.25 %: a request takes the
/// smallest free block that holds it and cuts it; free neighbours of one segment are joined; where memory is short,
/// segments that are free as a whole are given back (c10/cuda/CUDACachingAllocator.cpp). The bytes that are alive at
/// once where these are more than \p memoryBytes, for then nothing helps. Two steps are replayed, the second in the
/// blocks of the first, and of each the first micro-batches, in which it settles. Example: 8 GB are taken and given
/// back, then 1 GB, and 8 GB again: 16 GB.
int64_t bytesOfBlocks(const BlockProgram &program, int64_t memoryBytes);

} // namespace apc

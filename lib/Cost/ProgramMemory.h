// The memory of a program on one device, value by value.
#pragma once

#include "Blocks/BlockReplay.h"
#include "RuntimeMemory.h"
#include "Timeline.h"

namespace apc {

/// The memory of a program: bytes that a device holds through the whole step, values that live for a part of it, and
/// the needs of ops by their place.
struct ProgramMemory {
  MemoryTable held;
  std::vector<PeakValue> heldValues;
  std::vector<LiveInterval> live;
  std::vector<PeakValue> values;                ///< by interval, those of fragments apart
  std::vector<int64_t> numBlocks, stayingBytes; ///< by interval, of `KeptByKernels`
  std::vector<std::optional<size_t>> moveOf;    ///< by interval: of a copy, its move
  std::vector<OpMemory> ops;
  BlockProgram blocks; ///< where the runtime caches blocks

  /// The values of other micro-batches in flight live as long as any micro-batch runs.
  void addOthersInFlight(const OpGraph &graph, const Timeline &time);
  /// Activations come and go, and fill a \p share of what an allocator takes for them: the rest is the runtime's.
  void addFragments(double share);
  /// Bytes that kernels keep, of as many \p copies of the micro-batch.
  void addKept(const KeptByKernels &kept, const Timeline &time, int64_t copies);
  void addLive(size_t begin, size_t end, PeakValue value, std::optional<size_t> move = {});
};

/// The memory of the program of `graphMemory`.
ProgramMemory programMemory(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                            llvm::ArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets, const Timeline &time);

/// The last op that runs with every micro-batch.
size_t lastOfMicroBatches(const OpGraph &graph, const Timeline &time);

/// Bytes beside those of a value of which an allocator uses a \p share: 0 but for activations.
int64_t fragmentsOf(const LiveInterval &value, double share);

} // namespace apc

// The pipeline schedules: a table of generators of action lists.
#pragma once

#include "apc/Schedule/Pipeline/Actions.h"

namespace apc {

/// The counts that a schedule is generated for. {4, 8, 2}: eight micro-batches on four workers with two chunks each.
struct PipelineCounts {
  uint32_t workers = 1;
  uint32_t microBatches = 1; ///< of a step; two copies of a model share them
  uint32_t chunks = 1;       ///< stages of a worker
  uint32_t pieces = 1;       ///< parts of a micro-batch along the sequence
  /// Micro-batches that go through a worker's chunks together, where the schedule has such groups; by default as many
  /// as workers, or the next number beyond that the micro-batches allow.
  std::optional<uint32_t> groupSize = std::nullopt;
  /// More forward actions that each worker runs ahead than the worker behind it, where the schedule has a warm-up:
  /// worker r begins with `warmUpFactor` (p - 1 - r) forward actions beyond those that it needs to reach the end of
  /// its last chunk. 1 keeps the fewest activations, 2 hides a hop in each direction.
  std::optional<uint32_t> warmUpFactor = std::nullopt;
};

/// The counts of numbers from 0 on, with the defaults for the rest.
inline PipelineCounts countsOf(int64_t workers, int64_t microBatches, int64_t chunks) {
  return {static_cast<uint32_t>(workers), static_cast<uint32_t>(microBatches), static_cast<uint32_t>(chunks)};
}

/// Micro-batches in a group of Megatron's interleaved schedules (microbatch_group_size_per_vp_stage): `groupSize`, or
/// the fewest that the counts allow, p where they are refused. Of 10 on 4 workers: 5. \p isShort: the warm-up is short.
uint32_t interleavedSizeOf(const PipelineCounts &counts, bool isShort);

/// One row of the table.
struct PipelineSchedule {
  llvm::StringLiteral name;
  llvm::StringLiteral aliases; ///< other names, divided by blanks
  llvm::StringLiteral summary;
  Placement placement;
  uint32_t leastChunks;
  uint32_t mostChunks;
  bool splitsBackward;       ///< into I and W, at least in part
  bool overlapsPairs;        ///< runs forward and backward actions interleaved
  bool hasPieces;            ///< takes `PipelineCounts::pieces`
  bool hasWarmUp;            ///< takes `PipelineCounts::warmUpFactor`
  llvm::StringLiteral needs; ///< for people; of micro-batches m, workers p, groups of N, chunks v, pieces n
  bool (*accepts)(const PipelineCounts &);
  ActionLists (*generate)(const PipelineCounts &);
};

llvm::ArrayRef<PipelineSchedule> allPipelineSchedules();

/// The row of that name or alias that takes so many chunks. A name may stand for two: MindSpore's `1f1b` with two
/// chunks is `interleaved`, its `gpipe` with two chunks `bfs`. Errors list the names, or the chunks that would do.
llvm::Expected<const PipelineSchedule *> findPipelineSchedule(llvm::StringRef name, uint32_t chunks = 1);

/// The fewest chunks of a worker with which a schedule goes by that name or alias; none where there is none.
std::optional<uint32_t> leastChunksOf(llvm::StringRef name);

/// The lists of a schedule. Input errors say which counts would work.
llvm::Expected<ActionLists> generateActions(const PipelineSchedule &schedule, const PipelineCounts &counts);

} // namespace apc

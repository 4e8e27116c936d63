// The generators of the schedules, family by family. Each takes counts that its row of the table accepts.
#pragma once

#include "apc/Schedule/Pipeline/Schedules.h"

namespace apc {

/// Lists of no actions for `counts`.
ActionLists emptyLists(const PipelineCounts &counts, Placement placement);

/// Whether interleaved runs with a shorter warm-up than its own.
bool hasShortWarmUp(const PipelineCounts &counts);
/// Micro-batches in a group, where the caller may choose: `groupSize`, or p.
uint32_t groupSizeOf(const PipelineCounts &counts);
/// Whether Megatron's schedules go through m micro-batches in groups of so many: p at least, the last group whole or,
/// where the warm-up is not short, with a rest of p at least. 10 on 4 workers: 5, 6 and 10.
bool takesGroupsOf(uint32_t size, const PipelineCounts &counts, bool isShort);
/// The same where PyTorch's zero-bubble schedule chooses: m divided into m / p rounds.
uint32_t roundSizeOf(const PipelineCounts &counts);
/// The same of sequence pieces: groups of p pieces.
uint32_t pieceGroupSizeOf(const PipelineCounts &counts);

// All forward actions, then all backward ones.
ActionLists generateGpipe(const PipelineCounts &counts);
ActionLists generateBreadthFirst(const PipelineCounts &counts);

// A warm-up of forward actions, then one forward, one backward.
ActionLists generateOneForwardOneBackward(const PipelineCounts &counts);
ActionLists generateEager(const PipelineCounts &counts);
ActionLists generateInterleaved(const PipelineCounts &counts);
ActionLists generateShortInterleaved(const PipelineCounts &counts);
ActionLists generateSequence(const PipelineCounts &counts);
ActionLists generateInterleavedSequence(const PipelineCounts &counts);
ActionLists generateShortSequence(const PipelineCounts &counts);

// Backward passes in two halves.
ActionLists generateZeroBubble1(const PipelineCounts &counts);
ActionLists generateZeroBubble2(const PipelineCounts &counts);
ActionLists generateInterleavedZeroBubble(const PipelineCounts &counts);
ActionLists generateZeroBubbleV(const PipelineCounts &counts);
ActionLists generateVHalf(const PipelineCounts &counts);
ActionLists generateVMin(const PipelineCounts &counts);

// Forward and backward actions that run interleaved.
ActionLists generateDualPipeV(const PipelineCounts &counts);
ActionLists generateDualPipe(const PipelineCounts &counts);

// Two copies of the model.
ActionLists generateChimera(const PipelineCounts &counts);

} // namespace apc

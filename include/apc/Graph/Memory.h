// The memory of one device: the values that live at each op of a schedule, and the table of the fullest moment.
#pragma once

#include "apc/Graph/Roles.h"
#include "apc/Sharding/Redistribution.h"

namespace apc {

/// A value that occupies `bytes` while the ops `begin` to `end` of the schedule run, both included.
struct LiveInterval {
  size_t begin = 0;
  size_t end = 0;
  int64_t bytes = 0;
  MemoryCategory category = MemoryCategory::Activations;
};

/// The largest sum of bytes that live at one op: {0,1,4} {1,2,3} {2,2,5} -> 8 (3 + 5 at op 2). Exact; O(n log n);
/// saturates at the largest int64.
int64_t peakLiveBytes(llvm::ArrayRef<LiveInterval> intervals);

/// Memory that an op needs beside the values that live: scratch of its kernel, buffers of the collectives before it.
struct OpMemory {
  int64_t workspaceBytes = 0;
  int64_t communicationBytes = 0;
};

/// The fullest moment of a step.
struct StepPeak {
  MemoryTable memory;
  size_t op = 0; ///< of the schedule: the first op at which the memory is largest
};

/// The table of one step: `held` for the whole step, and the rest as it is at the op where it is largest together (the
/// first such op), so that `total()` is the exact peak and not a sum of peaks at different times. `ops` is the
/// schedule; intervals that end behind it are cut to it.
MemoryTable stepMemory(const MemoryTable &held, llvm::ArrayRef<LiveInterval> values, llvm::ArrayRef<OpMemory> ops);
/// The same with the op.
StepPeak stepPeak(const MemoryTable &held, llvm::ArrayRef<LiveInterval> values, llvm::ArrayRef<OpMemory> ops);

/// The buffers that a redistribution needs beside its input and its output: while a collective runs, its source unless
/// that is the input, and its target unless that is the output. 0 for one collective, or none. AllGather to 8 bytes
/// and AllToAll to 8 after it: 8, the gathered piece.
int64_t redistributionBufferBytes(llvm::ArrayRef<Collective> collectives);

} // namespace apc

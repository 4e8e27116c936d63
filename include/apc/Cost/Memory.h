// The memory of one device: what lives when, and the table that every plan carries.
#pragma once

#include "apc/Sharding/Redistribution.h"

#include <vector>

namespace apc {

/// A value that occupies `bytes` while the ops `begin` to `end` of the schedule run, both included.
struct LiveInterval {
  size_t begin = 0;
  size_t end = 0;
  int64_t bytes = 0;
};

/// The largest sum of bytes that live at one op: {0,1,4} {1,2,3} {2,2,5} -> 8 (3 + 5 at op 2). Exact; O(n log n);
/// saturates at the largest int64.
int64_t peakLiveBytes(llvm::ArrayRef<LiveInterval> intervals);

/// Bytes on one device by what they are for. Gradients and optimizer are 0 when nothing is trained.
struct MemoryTable {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;
  int64_t workspace = 0;
  int64_t communication = 0;

  int64_t total() const;
};

/// What an op needs beside the values that live: scratch of its kernel, buffers of the redistributions before it.
struct OpMemory {
  int64_t workspaceBytes = 0;
  int64_t communicationBytes = 0;
};

/// The table of an inference step: parameters for good, the rest as it is at the op where it is largest together (the
/// first such op), so that `total()` is the exact peak and not a sum of peaks at different times. `ops` is the
/// schedule; intervals that end behind it are cut to it.
MemoryTable inferenceMemory(int64_t parameterBytes, llvm::ArrayRef<LiveInterval> values, llvm::ArrayRef<OpMemory> ops);

/// The buffers that a redistribution needs beside its input and its output: while a step runs, what it reads unless
/// that is the input, and what it writes unless that is the output. 0 for one step, or none. AllGather to 8 bytes and
/// AllToAll to 8 after it: 8, the gathered piece.
int64_t redistributionBufferBytes(llvm::ArrayRef<Step> steps);

} // namespace apc

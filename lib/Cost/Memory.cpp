// Peak memory by sweeping over the schedule.
#include "apc/Cost/Memory.h"

#include <algorithm>
#include <limits>

using namespace llvm;

namespace apc {

namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max();

int64_t addSaturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? most : sum;
}

/// Bytes that come to life (positive) before an op, or are free (negative) from it on.
struct Change {
  size_t op;
  int64_t bytes;
};

/// Frees stand before births at the same op, so that the sum at a position is what lives there.
std::vector<Change> changesOf(ArrayRef<LiveInterval> intervals) {
  std::vector<Change> changes;
  changes.reserve(2 * intervals.size());
  for (const LiveInterval &interval : intervals) {
    changes.push_back({interval.begin, interval.bytes});
    if (interval.end != std::numeric_limits<size_t>::max())
      changes.push_back({interval.end + 1, -interval.bytes});
  }
  llvm::sort(changes,
             [](const Change &a, const Change &b) { return std::tie(a.op, a.bytes) < std::tie(b.op, b.bytes); });
  return changes;
}

/// Wide enough that no sum of int64 overflows.
using Wide = __int128;

int64_t clamp(Wide value) { return value > most ? most : static_cast<int64_t>(value); }

} // namespace

int64_t peakLiveBytes(ArrayRef<LiveInterval> intervals) {
  Wide live = 0, peak = 0;
  for (const Change &change : changesOf(intervals)) {
    live += change.bytes;
    peak = std::max(peak, live);
  }
  return clamp(peak);
}

int64_t MemoryTable::total() const {
  int64_t sum = 0;
  for (int64_t part : {parameters, gradients, optimizer, activations, workspace, communication})
    sum = addSaturating(sum, part);
  return sum;
}

MemoryTable inferenceMemory(int64_t parameterBytes, ArrayRef<LiveInterval> values, ArrayRef<OpMemory> ops) {
  std::vector<Change> changes = changesOf(values);
  MemoryTable table;
  table.parameters = parameterBytes;
  Wide live = 0, peak = -1;
  auto next = changes.begin();
  for (size_t op = 0; op < ops.size(); ++op) {
    for (; next != changes.end() && next->op <= op; ++next)
      live += next->bytes;
    Wide here = live + ops[op].workspaceBytes + ops[op].communicationBytes;
    if (here <= peak)
      continue;
    peak = here;
    table.activations = clamp(live);
    table.workspace = ops[op].workspaceBytes;
    table.communication = ops[op].communicationBytes;
  }
  return table;
}

int64_t redistributionBufferBytes(ArrayRef<Step> steps) {
  int64_t most = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    int64_t reads = i == 0 ? 0 : steps[i].inputBytes;
    int64_t writes = i + 1 == steps.size() ? 0 : steps[i].outputBytes;
    most = std::max(most, addSaturating(reads, writes));
  }
  return most;
}

} // namespace apc

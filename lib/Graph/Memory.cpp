// Peak memory by sweeping over the schedule.
#include "apc/Graph/Memory.h"

#include "apc/Support/Saturating.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace llvm;

namespace apc {

namespace {

/// Bytes that come to life (positive) before an op, or are free (negative) from it on.
struct Change {
  size_t op;
  int64_t bytes;
  MemoryCategory category;
};

/// Frees stand before births at the same op, so that the sum at a position is what lives there.
std::vector<Change> changesOf(ArrayRef<LiveInterval> intervals) {
  std::vector<Change> changes;
  changes.reserve(2 * intervals.size());
  for (const LiveInterval &interval : intervals) {
    changes.push_back({interval.begin, interval.bytes, interval.category});
    if (interval.end != std::numeric_limits<size_t>::max())
      changes.push_back({interval.end + 1, -interval.bytes, interval.category});
  }
  llvm::sort(changes,
             [](const Change &a, const Change &b) { return std::tie(a.op, a.bytes) < std::tie(b.op, b.bytes); });
  return changes;
}

/// Wide enough that no sum of int64 overflows.
using Wide = __int128;

int64_t clamp(Wide value) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  return value > most ? most : static_cast<int64_t>(value);
}

} // namespace

int64_t peakLiveBytes(ArrayRef<LiveInterval> intervals) {
  Wide live = 0, peak = 0;
  for (const Change &change : changesOf(intervals)) {
    live += change.bytes;
    peak = std::max(peak, live);
  }
  return clamp(peak);
}

MemoryTable stepMemory(const MemoryTable &held, ArrayRef<LiveInterval> values, ArrayRef<OpMemory> ops) {
  return stepPeak(held, values, ops).memory;
}

StepPeak stepPeak(const MemoryTable &held, ArrayRef<LiveInterval> values, ArrayRef<OpMemory> ops) {
  std::vector<Change> changes = changesOf(values);
  StepPeak fullest{held};
  MemoryTable &table = fullest.memory;
  std::array<Wide, numMemoryCategories> live = {};
  Wide sum = 0, peak = -1;
  auto next = changes.begin();
  for (const auto &[op, own] : llvm::enumerate(ops)) {
    for (; next != changes.end() && next->op <= op; ++next) {
      live[static_cast<size_t>(next->category)] += next->bytes;
      sum += next->bytes;
    }
    Wide here = sum + own.workspaceBytes + own.communicationBytes;
    if (here <= peak)
      continue;
    peak = here;
    fullest.op = op;
    for (size_t category = 0; category < numMemoryCategories; ++category)
      table.bytes[category] = clamp(Wide(held.bytes[category]) + live[category]);
    table[MemoryCategory::Workspace] = addSaturating(table[MemoryCategory::Workspace], own.workspaceBytes);
    table[MemoryCategory::Communication] = addSaturating(table[MemoryCategory::Communication], own.communicationBytes);
  }
  return fullest;
}

int64_t redistributionBufferBytes(ArrayRef<Collective> collectives) {
  int64_t largest = 0;
  for (size_t i = 0; i < collectives.size(); ++i) {
    int64_t reads = i == 0 ? 0 : collectives[i].inputBytes;
    int64_t writes = i + 1 == collectives.size() ? 0 : collectives[i].outputBytes;
    largest = std::max(largest, addSaturating(reads, writes));
  }
  return largest;
}

} // namespace apc

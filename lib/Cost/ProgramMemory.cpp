// Values, what kernels keep and what an allocator loses, as intervals of a program.
#include "ProgramMemory.h"

#include "apc/Support/Saturating.h"

using namespace llvm;

namespace apc {

size_t lastOfMicroBatches(const OpGraph &graph, const Timeline &time) {
  const int64_t runs = graph.microBatches();
  size_t last = 0;
  for (size_t at = 0; at < time.size(); ++at)
    if (graph.op(time.opAt(at)).repeats == runs)
      last = at;
  return last;
}

void ProgramMemory::addOthersInFlight(const OpGraph &graph, const Timeline &time) {
  int64_t others = graph.othersInFlight();
  if (others == 0)
    return;
  const InFlight &inFlight = *graph.inFlight;
  const size_t backward = time.at(inFlight.backward), last = lastOfMicroBatches(graph, time);
  size_t weights = time.at(inFlight.weights.value_or(inFlight.backward));
  std::vector<bool> isWeight = graph.weights();
  for (size_t index = 0, own = live.size(); index < own; ++index) {
    PeakValue value = values[index];
    auto isHeldAt = [&, own = live[index]](size_t at) { return own.begin < at && at <= own.end; };
    const bool isAtBackward = isHeldAt(backward), isAtWeights = inFlight.weights && isHeldAt(weights);
    const bool isKept = isAtBackward || isAtWeights;
    if (!isKept || isWeight[value.value.index()] || graph.isAccumulated(value.value))
      continue;
    auto addOthers = [&](size_t begin, size_t end, bool inWeights) {
      PeakValue ofOthers = value;
      const int64_t holding = inFlight.othersHolding(isAtBackward, isAtWeights, inWeights);
      ofOthers.bytes = multiplySaturating(value.bytes, holding);
      if (begin <= end && holding > 0)
        addLive(begin, end, ofOthers);
    };
    if (!inFlight.waiting || !inFlight.weights) {
      addOthers(0, last, /*inWeights=*/false);
      continue;
    }
    addOthers(0, weights - 1, /*inWeights=*/false);
    addOthers(weights, last, /*inWeights=*/true);
  }
}

int64_t fragmentsOf(const LiveInterval &value, double share) {
  if (share >= 1 || value.category != MemoryCategory::Activations)
    return 0;
  return static_cast<int64_t>(static_cast<double>(value.bytes) / share) - value.bytes;
}

void ProgramMemory::addFragments(double share) {
  for (size_t index = 0; index < values.size(); ++index) {
    const LiveInterval own = live[index];
    if (int64_t bytes = fragmentsOf(own, share); bytes > 0)
      live.push_back({own.begin, own.end, bytes, MemoryCategory::Runtime});
  }
}

void ProgramMemory::addKept(const KeptByKernels &kept, const Timeline &time, int64_t copies) {
  auto isBefore = [&](OpId a, OpId b) { return time.at(a) < time.at(b); };
  auto [first, last] = std::minmax_element(kept.ops.begin(), kept.ops.end(), isBefore);
  addLive(time.at(*first), time.at(*last), {kept.value, multiplySaturating(kept.bytes, copies)});
  numBlocks.back() = kept.numBlocks;
  stayingBytes.back() = kept.stayingBytes;
}

void ProgramMemory::addLive(size_t begin, size_t end, PeakValue value, std::optional<size_t> move) {
  live.push_back({begin, end, value.bytes, value.category});
  values.push_back(value);
  numBlocks.push_back(1);
  stayingBytes.push_back(0);
  moveOf.push_back(move);
}

} // namespace apc

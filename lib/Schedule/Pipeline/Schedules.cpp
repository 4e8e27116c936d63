// The table of schedules.
#include "apc/Schedule/Pipeline/Schedules.h"

#include "Generators.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

constexpr uint32_t anyNumber = 1024; ///< of chunks

/// With more, a worker asks for a group's next chunk before the one behind it has begun to send gradients back.
constexpr uint32_t mostInterleavedWarmUp = 2;

bool acceptsAll(const PipelineCounts &) { return true; }

bool acceptsGroups(const PipelineCounts &c, bool isShort) {
  return takesGroupsOf(interleavedSizeOf(c, isShort), c, isShort);
}

bool acceptsAnyGroups(const PipelineCounts &c) { return acceptsGroups(c, hasShortWarmUp(c)); }
bool acceptsWholeGroups(const PipelineCounts &c) { return acceptsGroups(c, /*isShort=*/true); }

bool acceptsRounds(const PipelineCounts &c) {
  uint32_t size = roundSizeOf(c);
  return size > 0 && size <= c.microBatches && c.microBatches % size == 0 &&
         (size >= c.workers || size == c.microBatches);
}

/// Several chunks are gone through in groups of p pieces at least, or of all.
bool acceptsSequence(const PipelineCounts &c, uint32_t groupSize) {
  return groupSize > 0 && (c.chunks == 1 || uint64_t(groupSize) * c.pieces >= c.workers || groupSize >= c.microBatches);
}

bool acceptsAnySequence(const PipelineCounts &c) { return acceptsSequence(c, groupSizeOf(c)); }

bool acceptsPieces(const PipelineCounts &c) {
  return c.workers >= c.pieces && uint64_t(c.microBatches) * c.pieces >= c.workers &&
         acceptsSequence(c, pieceGroupSizeOf(c));
}

bool acceptsEvenPieces(const PipelineCounts &c) { return c.workers % 2 == 0 && acceptsPieces(c); }

bool acceptsTwoRounds(const PipelineCounts &c) { return c.microBatches >= 2 * c.workers; }

bool acceptsMirrored(const PipelineCounts &c) {
  return c.workers % 2 == 0 && c.microBatches % 2 == 0 && acceptsTwoRounds(c);
}

bool acceptsChimera(const PipelineCounts &c) { return c.workers % 2 == 0 && c.microBatches % c.workers == 0; }

// name, aliases, summary | placement, chunks | splits, pairs, pieces, warm-up | needs
constexpr PipelineSchedule schedules[] = {
    {"gpipe", "", "all forward passes, then all backward passes", Placement::Loop, 1, 1, false, false, false, false,
     "m >= 1", acceptsAll, generateGpipe},
    {"1f1b", "", "one forward, one backward (PipeDream-flush): the fewest activations", Placement::Loop, 1, 1, false,
     false, false, true, "m >= 1", acceptsAll, generateOneForwardOneBackward},
    {"eager-1f1b", "eager1f1b", "1f1b with twice the warm-up: hides a hop in each direction", Placement::Loop, 1, 1,
     false, false, false, true, "m >= 1", acceptsAll, generateEager},
    {"interleaved", "1f1b vpp", "1f1b over several chunks, micro-batches in groups of N (Megatron)", Placement::Loop, 2,
     anyNumber, false, false, false, true,
     "p <= N <= m, and m a multiple of N, or with a rest of at least p where the warm-up factor is 2 or more; by "
     "default, the least such N",
     acceptsAnyGroups, generateInterleaved},
    {"interleaved-short", "", "interleaved with the short warm-up: fewer activations, and hops that nothing hides",
     Placement::Loop, 2, anyNumber, false, false, false, false,
     "p <= N <= m, and m a multiple of N; by default, the least such N", acceptsWholeGroups, generateShortInterleaved},
    {"bfs", "gpipe breadth-first looped-bfs", "chunk by chunk, all micro-batches of each (breadth first)",
     Placement::Loop, 2, anyNumber, false, false, false, false, "m >= 1", acceptsAll, generateBreadthFirst},
    {"seqpipe", "seq1f1b", "1f1b whose micro-batches are cut along the sequence", Placement::Loop, 1, anyNumber, false,
     false, true, true, "N >= 1, with several chunks N n >= p", acceptsAnySequence, generateSequence},
    {"seqvpp", "", "interleaved seqpipe in groups of p / n micro-batches", Placement::Loop, 2, anyNumber, false, false,
     true, true, "p >= n, m n >= p and N n >= p", acceptsPieces, generateInterleavedSequence},
    {"seqsmartvpp", "", "seqvpp with the short warm-up", Placement::Loop, 2, anyNumber, false, false, true, true,
     "an even p, p >= n, m n >= p and N n >= p", acceptsEvenPieces, generateShortSequence},
    {"zb-h1", "zbh1", "split backward passes that fill the bubble, in the memory of 1f1b", Placement::Loop, 1, 1, true,
     false, false, true, "m >= 1", acceptsAll, generateZeroBubble1},
    {"zb-h2", "zbh2", "split backward passes and twice the warm-up: hardly a bubble", Placement::Loop, 1, 1, true,
     false, false, true, "m >= 1", acceptsAll, generateZeroBubble2},
    {"zb-v", "zbv", "split backward passes over two chunks placed as a V: the same memory everywhere", Placement::V, 2,
     2, true, false, false, false, "m >= 1", acceptsAll, generateZeroBubbleV},
    {"v-half", "vhalf", "zb-v with about half of its activations, and half of the bubble of 1f1b", Placement::V, 2, 2,
     true, false, false, false, "m >= 1", acceptsAll, generateVHalf},
    {"v-min", "vmin", "zb-v with about a third of its activations, and two thirds of the bubble of 1f1b", Placement::V,
     2, 2, true, false, false, false, "m >= 1", acceptsAll, generateVMin},
    {"interleaved-zb", "zb1p", "interleaved with the short warm-up and split backward passes (PyTorch)",
     Placement::Loop, 2, anyNumber, true, false, false, true,
     "m a multiple of N >= p; by default, m / p groups of one size", acceptsRounds, generateInterleavedZeroBubble},
    {"dualpipev", "zero_bubble_v", "two chunks placed as a V, forward and backward passes interleaved", Placement::V, 2,
     2, true, true, false, false, "m >= 2 p", acceptsTwoRounds, generateDualPipeV},
    {"dualpipe", "", "two copies of the model, forward and backward passes interleaved (DeepSeek-V3)",
     Placement::Mirrored, 2, 2, true, true, false, false, "an even p, an even m >= 2 p", acceptsMirrored,
     generateDualPipe},
    {"chimera", "", "two copies of the model, each in 1f1b", Placement::Mirrored, 2, 2, false, false, false, false,
     "an even p, and m a multiple of p", acceptsChimera, generateChimera},
};

bool isCalled(const PipelineSchedule &schedule, llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> aliases;
  llvm::SplitString(schedule.aliases, aliases);
  return schedule.name == name || llvm::is_contained(aliases, name);
}

std::string chunksOf(const PipelineSchedule &schedule) {
  if (schedule.mostChunks == anyNumber)
    return llvm::formatv("{0} or more", schedule.leastChunks);
  return std::to_string(schedule.leastChunks);
}

/// \p accepted: "1", "2 or more".
llvm::Error refuseChunks(llvm::StringRef schedule, const std::string &accepted, uint32_t chunks) {
  return inputError("schedule '{0}' has {1} {2} on a worker, not {3}", schedule, accepted,
                    accepted == "1" ? "chunk" : "chunks", chunks);
}

/// " 8 and 12 would do": the nearest numbers of micro-batches that the schedule accepts.
std::string nearestMicroBatches(const PipelineSchedule &schedule, PipelineCounts counts) {
  std::vector<std::string> found;
  uint32_t asked = counts.microBatches;
  auto isAccepted = [&](uint32_t microBatches) {
    counts.microBatches = microBatches;
    return schedule.accepts(counts);
  };
  uint32_t reach = 4 * std::max(counts.workers, counts.groupSize.value_or(1)) + 2;
  for (uint32_t less = 1; less <= std::min(reach, asked - 1) && found.empty(); ++less)
    if (isAccepted(asked - less))
      found.push_back(std::to_string(asked - less));
  for (uint32_t more = 1; more <= reach; ++more)
    if (isAccepted(asked + more)) {
      found.push_back(std::to_string(asked + more));
      break;
    }
  if (found.empty())
    return "no number of micro-batches would do";
  return llvm::join(found, " or ") + " micro-batches would do";
}

} // namespace

llvm::ArrayRef<PipelineSchedule> allPipelineSchedules() { return schedules; }

llvm::Expected<const PipelineSchedule *> findPipelineSchedule(llvm::StringRef name, uint32_t chunks) {
  std::vector<std::string> accepted;
  for (const PipelineSchedule &schedule : schedules) {
    if (!isCalled(schedule, name))
      continue;
    if (chunks >= schedule.leastChunks && chunks <= schedule.mostChunks)
      return &schedule;
    accepted.push_back(chunksOf(schedule));
  }
  if (!accepted.empty())
    return refuseChunks(name, llvm::join(accepted, ", or "), chunks);
  auto names = llvm::map_range(schedules, [](const PipelineSchedule &row) { return llvm::StringRef(row.name); });
  return inputError("there is no schedule '{0}'; there are: {1}", name, llvm::join(names, ", "));
}

std::optional<uint32_t> leastChunksOf(llvm::StringRef name) {
  std::optional<uint32_t> least;
  for (const PipelineSchedule &schedule : schedules)
    if (isCalled(schedule, name))
      least = std::min(least.value_or(schedule.leastChunks), schedule.leastChunks);
  return least;
}

llvm::Expected<ActionLists> generateActions(const PipelineSchedule &schedule, const PipelineCounts &counts) {
  if (counts.workers == 0 || counts.microBatches == 0 || counts.pieces == 0)
    return inputError("schedule '{0}': workers, micro-batches and pieces are 1 at least", schedule.name);
  if (counts.chunks < schedule.leastChunks || counts.chunks > schedule.mostChunks)
    return refuseChunks(schedule.name, chunksOf(schedule), counts.chunks);
  if (counts.pieces > 1 && !schedule.hasPieces)
    return inputError("schedule '{0}' does not cut micro-batches into pieces; seqpipe does", schedule.name);
  if (counts.warmUpFactor && !schedule.hasWarmUp)
    return inputError("schedule '{0}' has no warm-up to set", schedule.name);
  if (counts.chunks > 1 && counts.warmUpFactor.value_or(0) > mostInterleavedWarmUp)
    return inputError(
        "schedule '{0}' takes a warm-up factor of {1} at most with several chunks, not {2}: workers would "
        "wait for each other",
        schedule.name, mostInterleavedWarmUp, *counts.warmUpFactor);
  if (!schedule.accepts(counts))
    return inputError("schedule '{0}' needs {1}; {2} micro-batches on {3} workers are refused, {4}", schedule.name,
                      schedule.needs, counts.microBatches, counts.workers, nearestMicroBatches(schedule, counts));
  return schedule.generate(counts);
}

} // namespace apc

// Stages between one micro-batch and their most.
#include "WorkerMemory.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace apc {

namespace {

/// The peak of a stage by micro-batches in flight. It is the largest of sums that grow in proportion to them, so that
/// it lies below the line between one micro-batch and the most.
struct PeakLine {
  MemoryTable most;
  int64_t mostInFlight = 1, extraBytes = 0; ///< of all micro-batches but one

  MemoryTable at(int64_t inFlight) const {
    MemoryTable memory = most;
    if (mostInFlight == 1)
      return memory;
    int64_t without = mostInFlight - std::max<int64_t>(1, inFlight);
    int64_t &activations = memory[MemoryCategory::Activations], &fragments = memory[MemoryCategory::Runtime];
    int64_t less = std::min(activations + fragments, extraBytes * without / (mostInFlight - 1));
    if (less <= 0) {
      activations -= less;
      return memory;
    }
    double ofFragments = static_cast<double>(fragments) / static_cast<double>(activations + fragments);
    int64_t lessFragments = std::min(fragments, static_cast<int64_t>(ofFragments * static_cast<double>(less)));
    lessFragments = std::max(lessFragments, less - activations);
    fragments -= lessFragments;
    activations -= less - lessFragments;
    return memory;
  }
};

PeakLine lineOf(const StageGraph &stage, const Candidate &candidate, const Pool &worker, int64_t inFlight) {
  PeakLine line{candidate.cost.memory, inFlight};
  StepPeak one = graphMemory(withInFlight(stage, 1), candidate.strategies, CostModel(worker, candidate.mesh),
                             candidate.cost.moves, candidate.cost.buckets);
  line.extraBytes = line.most.total() - one.memory.total();
  return line;
}

/// A device runs one stage at a time: of the scratch memory of all, the largest is enough.
void shareWorkspace(std::vector<MemoryTable> &stages) {
  auto workspace = [](MemoryTable &memory) -> int64_t & { return memory[MemoryCategory::Workspace]; };
  auto isSmaller = [&](MemoryTable &a, MemoryTable &b) { return workspace(a) < workspace(b); };
  MemoryTable &largest = *std::max_element(stages.begin(), stages.end(), isSmaller);
  for (MemoryTable &memory : stages)
    if (&memory != &largest)
      workspace(memory) = 0;
}

} // namespace

std::vector<MemoryTable> memoryTogether(const PipelinePoint &point, const CutStep &step,
                                        llvm::ArrayRef<const Candidate *> candidates, const WorkerPools &workers) {
  const PipelineShape &shape = point.lists.shape;
  std::vector<MemoryTable> memory;
  for (const Candidate *candidate : candidates)
    memory.push_back(candidate->cost.memory);
  if (shape.chunks == 1)
    return memory;
  const std::vector<int64_t> inFlight = point.inFlight();
  for (uint32_t number = 0; number < shape.workers; ++number) {
    std::vector<uint32_t> stages;
    std::vector<PeakLine> lines;
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      uint32_t stage = stages.emplace_back(shape.stageOf(number, chunk));
      lines.push_back(lineOf(step.stages[stage], *candidates[stage], workers.pool(number), inFlight[stage]));
    }
    int64_t most = 0;
    for (const std::vector<int64_t> &held : point.inFlightTogether(number)) {
      std::vector<MemoryTable> own;
      for (auto [line, count] : llvm::zip_equal(lines, held))
        own.push_back(line.at(count));
      shareWorkspace(own);
      int64_t bytes = std::accumulate(own.begin(), own.end(), int64_t(0),
                                      [](int64_t sum, const MemoryTable &each) { return sum + each.total(); });
      if (bytes <= most)
        continue;
      most = bytes;
      for (auto [stage, each] : llvm::zip_equal(stages, own))
        memory[stage] = each;
    }
  }
  return memory;
}

} // namespace apc

// Stages of a worker while one of them runs.
#include "WorkerMemory.h"

#include "apc/Support/Saturating.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

MemoryTable times(const MemoryTable &memory, int64_t count) {
  MemoryTable all;
  for (auto [sum, bytes] : llvm::zip_equal(all.bytes, memory.bytes))
    sum = multiplySaturating(bytes, count);
  return all;
}

MemoryTable memoryAt(const MemoryOfStage &stage, const HeldUnits &held) {
  MemoryTable memory;
  switch (held.running) {
  case HeldUnits::Running::Nothing:
    memory = stage.idle;
    break;
  case HeldUnits::Running::Pass:
    memory = stage.pass;
    break;
  case HeldUnits::Running::Weights:
    memory = stage.weights;
    break;
  case HeldUnits::Running::Done:
    memory = stage.idle;
    memory += stage.done;
    break;
  }
  memory += times(stage.atBackward, held.atBackward);
  memory += times(stage.atWeights, held.atWeights);
  if (held.isRunning())
    memory[MemoryCategory::Runtime] += std::max<int64_t>(0, stage.blockBytes - memory.total());
  return memory;
}

/// The fullest time of a worker, by chunk.
class FullestTime {
public:
  void take(std::vector<MemoryTable> stages) {
    int64_t bytes = 0;
    for (const MemoryTable &own : stages)
      bytes = addSaturating(bytes, own.total());
    if (fullest.empty() || bytes > most) {
      most = bytes;
      fullest = std::move(stages);
    }
  }
  const std::vector<MemoryTable> &stages() const { return fullest; }

private:
  int64_t most = 0;
  std::vector<MemoryTable> fullest;
};

/// \p times: of a worker, by chunk. Behind all of them, one stage after the other makes its update.
std::vector<MemoryTable> fullestOf(llvm::ArrayRef<MemoryOfStage> stages, llvm::ArrayRef<std::vector<HeldUnits>> times) {
  FullestTime fullest;
  for (const std::vector<HeldUnits> &held : times) {
    std::vector<MemoryTable> own;
    for (const auto &[stage, units] : llvm::zip_equal(stages, held))
      own.push_back(memoryAt(stage, units));
    fullest.take(std::move(own));
  }
  for (size_t updated = 0; updated < stages.size(); ++updated) {
    std::vector<MemoryTable> own;
    for (const auto &[index, stage] : llvm::enumerate(stages))
      own.push_back(index == updated ? stage.update : memoryAt(stage, {0, 0, HeldUnits::Running::Done}));
    fullest.take(std::move(own));
  }
  return fullest.stages();
}

} // namespace

MemoryOfStage memoryOf(const StageGraph &stage, const Candidate &candidate, const Pool &worker) {
  return memoryOfStage(withInFlight(stage, 1), candidate.strategies, CostModel(worker, candidate.mesh),
                       candidate.cost.moves, candidate.cost.buckets);
}

std::vector<MemoryTable> memoryTogether(const PipelinePoint &point, const CutStep &step,
                                        llvm::ArrayRef<const Candidate *> candidates, const WorkerPools &workers) {
  const PipelineShape &shape = point.lists.shape;
  std::vector<MemoryTable> memory;
  for (const Candidate *candidate : candidates)
    memory.push_back(candidate->cost.memory);
  if (shape.chunks == 1)
    return memory;
  for (uint32_t number = 0; number < shape.workers; ++number) {
    std::vector<uint32_t> stages;
    std::vector<MemoryOfStage> parts;
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      uint32_t stage = stages.emplace_back(shape.stageOf(number, chunk));
      parts.push_back(memoryOf(step.stages[stage], *candidates[stage], workers.pool(number)));
    }
    for (auto [stage, own] : llvm::zip_equal(stages, fullestOf(parts, point.held[number])))
      memory[stage] = own;
  }
  return memory;
}

} // namespace apc

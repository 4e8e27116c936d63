// The memory of single stages.
#include "StageMemory.h"

#include <algorithm>

namespace apc {

StageMemory::StageMemory(const StageProblem &problem, const StageCosts &costs, const StagePoint &point)
    : problem(problem), costs(costs) {
  for (uint32_t stage = 0; stage < point.shape().numStages(); ++stage)
    counts.push_back(point.simulator.liveCounts(stage));
}

int64_t StageMemory::bytesOf(uint32_t stage, const StageWork &work) const {
  int64_t most = 0;
  for (const LiveCounts &count : counts[stage])
    most = std::max(most, count.bytesOf(work));
  return work.staticBytes + most;
}

std::optional<bool> StageMemory::recomputes(uint32_t stage, uint32_t width, uint32_t first, uint32_t last) const {
  StageWork work = costs.stage(width, first, last);
  if (!problem.memoryLimitBytes || bytesOf(stage, work) <= *problem.memoryLimitBytes)
    return false;
  work.isRecomputed = problem.space.recompute;
  if (work.isRecomputed && bytesOf(stage, work) <= *problem.memoryLimitBytes)
    return true;
  return std::nullopt;
}

std::optional<StageWork> StageMemory::leastFitting(uint32_t stage, uint32_t first, uint32_t last) const {
  std::optional<StageWork> least;
  for (uint32_t width = 0; width < costs.widths().size(); ++width) {
    std::optional<bool> recompute = recomputes(stage, width, first, last);
    if (!recompute)
      continue;
    StageWork work = costs.stage(width, first, last);
    if (*recompute)
      work.inputGradientSeconds += work.forwardSeconds;
    least = least ? leastOf(*least, work) : work;
  }
  return least;
}

int64_t StageMemory::leastBytes(uint32_t stage, uint32_t first, uint32_t last) const {
  std::optional<int64_t> least;
  for (uint32_t width = 0; width < costs.widths().size(); ++width)
    for (bool recompute : {false, true}) {
      StageWork work = costs.stage(width, first, last);
      work.isRecomputed = recompute;
      if (!recompute || problem.space.recompute)
        least = std::min(least.value_or(bytesOf(stage, work)), bytesOf(stage, work));
    }
  return *least;
}

int64_t StageMemory::leastLimit() const {
  auto numStages = static_cast<uint32_t>(counts.size()), numLayers = problem.numLayers();
  // Of the layers from each one on, in the stages from the current one on.
  std::vector<int64_t> behind(numLayers + 1), here(numLayers + 1);
  for (uint32_t stage = numStages; stage-- > 0; std::swap(behind, here)) {
    uint32_t numLeft = numStages - stage - 1;
    for (uint32_t first = stage; first + numLeft < numLayers; ++first) {
      std::optional<int64_t> least;
      for (uint32_t end = numLeft == 0 ? numLayers : first + 1; end + numLeft <= numLayers; ++end) {
        int64_t bytes = leastBytes(stage, first, end);
        if (least && bytes >= *least)
          break; // longer stages need more
        bytes = numLeft == 0 ? bytes : std::max(bytes, behind[end]);
        least = std::min(least.value_or(bytes), bytes);
      }
      here[first] = *least;
    }
  }
  return behind[0];
}

} // namespace apc

// The memory of workers, which follows from their lists alone.
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc {

int64_t PipelineSimulator::peakBytes(uint32_t worker, llvm::ArrayRef<StageWork> stages) const {
  int64_t bytes = 0, peak = 0, fixed = 0;
  auto begin = [&](const Work &action) {
    const StageWork &stage = stages[action.stage];
    if (action.kind == ActionKind::Forward)
      bytes += stage.isRecomputed ? stage.inputBytes : stage.activationBytes;
    else if (action.kind != ActionKind::WeightGradient && stage.isRecomputed)
      bytes += stage.activationBytes - stage.inputBytes;
    peak = std::max(peak, bytes);
  };
  auto end = [&](const Work &action) {
    const StageWork &stage = stages[action.stage];
    if (action.kind == ActionKind::InputGradient)
      bytes -= stage.activationBytes - stage.weightActivationBytes;
    else if (action.kind == ActionKind::WeightGradient)
      bytes -= stage.weightActivationBytes;
    else if (action.kind == ActionKind::Backward)
      bytes -= stage.activationBytes;
  };
  for (const Step &step : llvm::ArrayRef(steps).slice(firstStep[worker], firstStep[worker + 1] - firstStep[worker])) {
    begin(step.work);
    if (step.isPair)
      begin(step.beside);
    end(step.work);
    if (step.isPair)
      end(step.beside);
  }
  for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
    fixed += stages[shape.stageOf(worker, chunk)].staticBytes;
  return fixed + peak;
}

int64_t LiveCounts::bytesOf(const StageWork &stage) const {
  int64_t bytes = kept * stage.weightActivationBytes;
  if (!stage.isRecomputed)
    return bytes + whole * stage.activationBytes;
  // An I or B has its own activations again.
  return bytes + whole * stage.inputBytes + (isBackward ? stage.activationBytes - stage.inputBytes : 0);
}

std::vector<LiveCounts> PipelineSimulator::liveCounts(uint32_t stage) const {
  std::vector<LiveCounts> found;
  LiveCounts now;
  auto isCovered = [&](const LiveCounts &one, const LiveCounts &by) {
    return one.whole <= by.whole && one.kept <= by.kept && one.isBackward == by.isBackward;
  };
  auto take = [&](const Work &action) {
    if (action.stage != stage)
      return;
    now.isBackward = action.kind == ActionKind::InputGradient || action.kind == ActionKind::Backward;
    now.whole += action.kind == ActionKind::Forward;
    if (action.kind != ActionKind::WeightGradient &&
        llvm::none_of(found, [&](const LiveCounts &other) { return isCovered(now, other); })) {
      llvm::erase_if(found, [&](const LiveCounts &other) { return isCovered(other, now); });
      found.push_back(now);
    }
    now.whole -= now.isBackward;
    if (action.kind == ActionKind::InputGradient)
      ++now.kept;
    else if (action.kind == ActionKind::WeightGradient)
      --now.kept;
  };
  uint32_t worker = workerOfStage[stage];
  for (size_t index = firstStep[worker]; index < firstStep[worker + 1]; ++index) {
    take(steps[index].work);
    if (steps[index].isPair)
      take(steps[index].beside);
  }
  return found;
}

} // namespace apc

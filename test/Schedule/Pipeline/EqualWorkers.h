// Pipelines whose workers are alike, for the tests of schedules.
#pragma once

#include "ValueOf.h"

#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

namespace apc {

/// Seconds of one micro-batch on one worker, all its chunks together, and of one hop. Activations are counted in
/// chunks: 1 from F on, of which `keptBytes` stay between I and W.
struct EqualWorkers {
  double f = 4, i = 6, w = 2, hop = 0;
  double pairShare = 1;
  int64_t keptBytes = 0;
};

inline PipelineWork workOf(const PipelineShape &shape, const EqualWorkers &equal) {
  double parts = shape.pieces * (shape.placement == Placement::Mirrored ? 1 : shape.chunks);
  PipelineWork work;
  StageWork stage;
  stage.forwardSeconds = equal.f / parts;
  stage.inputGradientSeconds = equal.i / parts;
  stage.weightGradientSeconds = equal.w / parts;
  stage.activationBytes = 1;
  stage.weightActivationBytes = equal.keptBytes;
  work.stages.assign(shape.numStages(), stage);
  work.messages = chainMessages(shape, equal.hop);
  work.pairShare = equal.pairShare;
  return work;
}

inline ActionLists listsOf(llvm::StringRef schedule, const PipelineCounts &counts) {
  return valueOf(generateActions(*valueOf(findPipelineSchedule(schedule, counts.chunks)), counts));
}

inline PipelineTime timeOf(llvm::StringRef schedule, const PipelineCounts &counts, const EqualWorkers &equal) {
  ActionLists lists = listsOf(schedule, counts);
  return valueOf(simulatePipeline(lists, workOf(lists.shape, equal)));
}

inline double stepOf(llvm::StringRef schedule, const PipelineCounts &counts, const EqualWorkers &equal) {
  return timeOf(schedule, counts, equal).stepSeconds;
}

inline std::vector<int64_t> peaksOf(const PipelineTime &time) {
  std::vector<int64_t> peaks;
  for (const WorkerTime &worker : time.workers)
    peaks.push_back(worker.peakBytes);
  return peaks;
}

} // namespace apc

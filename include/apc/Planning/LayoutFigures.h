// The figures of a layout without its plan: for those who cost thousands of layouts.
#pragma once

#include "apc/Planning/Planning.h"

namespace apc {

/// The seconds and bytes that the plan of a layout has (`Plan`), and those of a device of its last worker.
struct LayoutFigures {
  double stepSeconds = 0;
  double computeSeconds = 0; ///< of a device; of a pipeline the mean of its workers, as the next two
  double communicationSeconds = 0;
  double exposedCommunicationSeconds = 0;
  double hostSeconds = 0; ///< in which a device waits for launches of a slower host, in the same mean
  double bubbleSeconds = 0;
  MemoryTable memory;                 ///< of the fullest device
  MemoryTable lastWorker;             ///< of a device of the worker that holds the last stage
  MemoryTable lastWorkerBetweenSteps; ///< of that, what stays from one step to the next: parameters and states
  int64_t memoryLimitBytes = 0;
  bool isByMemory = false; ///< strategies were sought that need less memory than the fastest

  bool fits() const { return memory.total() <= memoryLimitBytes; }
};

/// The figures of the plan that `evaluateLayout` returns, without reasons and descriptions, which take as long as the
/// cost itself. Errors: those of `evaluateLayout`.
llvm::Expected<LayoutFigures> figuresOfLayout(const OpGraph &graph, const PlanRequest &request,
                                              const PlanningTarget &target, const ParallelDegrees &layout,
                                              const PlanningControl &control);

} // namespace apc

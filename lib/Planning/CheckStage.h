// The statements of a plan about one of its stages, and about its pipeline.
#pragma once

#include "Task.h"

#include "apc/Plan/Plan.h"

namespace apc {

/// A stage that is as its plan says, and the program that follows from the plan.
struct CheckedStage {
  Candidate candidate;
  int64_t devicesUsed = 0;
  bool isOfCluster = false; ///< costs are those of the plan's cluster; else it cannot be read
};

/// Holds `stage` against `graph`, which it was made for, on the devices of `worker`, one of those that the plan has.
llvm::Expected<CheckedStage> checkStageStatements(const OpGraph &graph, const Plan &plan, const StagePlan &stage,
                                                  uint32_t worker);

/// Cuts the step as the plan says and holds its stages, transfers, micro-batches in flight, seconds by part and the
/// step against what follows from schedule and strategies.
llvm::Error checkPipelineStatements(const OpGraph &graph, const Plan &plan);

/// Holds the rates of the step and the memory of a device against the model and the cluster, where that can be read.
llvm::Error checkRates(const OpGraph &graph, const Plan &plan);

/// Holds workers, schedule and chunks of a plan against its request, and the plan against its point among those that
/// were tried.
llvm::Error checkChoices(const Plan &plan);

/// Is the origin of a plan a search, a reference, a layout, or another one that plans have?
llvm::Error checkOrigin(const Plan &plan);

} // namespace apc

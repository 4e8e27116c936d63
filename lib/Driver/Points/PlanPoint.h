// Single points of a request: planned, costed or bounded on the step that they have.
#pragma once

#include "StepsAtHand.h"

#include "apc/Plan/ParallelDegrees.h"
#include "apc/Planning/LayoutFigures.h"
#include "apc/Planning/PipelineBound.h"

namespace apc {

/// Plans a request that leaves no batch and no recomputation open, or whose model is planned as it was exported.
/// Errors: those of `buildStep` and of `planGraph`.
llvm::Expected<Plan> planPoint(const PlanRequest &request, const PlanningControl &control, StepsAtHand &steps);
/// A plan of a step that takes no longer than with any policy of recomputation, whatever the memory.
struct LeastPlan {
  Plan plan;
  bool isOfRequest; ///< it is one of the request, too: recomputation only adds work
};
/// `planPoint` of `StepsAtHand::fastestOf`. Errors: the same.
llvm::Expected<LeastPlan> planLeast(const PlanRequest &request, llvm::ArrayRef<RecomputeSetting> policies,
                                    const PlanningControl &control, StepsAtHand &steps);
/// Is `StepsAtHand::fastestOf` the step of the request? Errors: those of `buildStep`; a cluster that cannot be read.
llvm::Expected<bool> recomputationOnlyAdds(const PlanRequest &request, llvm::ArrayRef<RecomputeSetting> policies,
                                           const PlanningControl &control, StepsAtHand &steps);
/// Costs a layout for a request that has its batches and its recomputation. Errors: the same, and of `evaluateLayout`.
llvm::Expected<Plan> evaluatePoint(const PlanRequest &request, const ParallelDegrees &layout,
                                   const PlanningControl &control, StepsAtHand &steps);
/// The figures of that plan; the time limit counts from when the step is at hand, and the building of that is not
/// counted. Called from several threads. Errors: the same.
llvm::Expected<LayoutFigures> figuresOfPoint(const PlanRequest &request, const ParallelDegrees &layout,
                                             const PlanningControl &control, StepsAtHand &steps);
/// `boundPipeline` of `StepsAtHand::fastestOf`. Errors: those of `buildStep` and of bounding.
llvm::Expected<PipelineBound> boundPoint(const PlanRequest &request, llvm::ArrayRef<RecomputeSetting> policies,
                                         const PlanningControl &control, StepsAtHand &steps);

} // namespace apc

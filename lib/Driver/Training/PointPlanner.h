// The ways in which single points of a training step are planned.
#pragma once

#include "OwnBatch.h"

#include "apc/Planning/PipelineBound.h"

namespace apc {

/// Callbacks for a request that leaves no batch, recomputation, copies or workers open. They outlive the planner.
struct PointPlanner {
  using PlanAgainst = llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &, std::optional<double> known)>;
  using BoundOfRequest = llvm::function_ref<llvm::Expected<PipelineBound>(const PlanRequest &)>;

  PlanOfRequest whole;            ///< plans to the gap or the time limit
  PlanOfRequest explained;        ///< the same, and says why nothing fits
  PlanOfRequest quick;            ///< plans to the gap where memory does not bind, else until a good answer
  PlanAgainst first;              ///< plans until a good answer, for pipelines; slower ones than is known as they come
  BoundOfRequest bound;           ///< `boundPipeline` of the step that is requested
  const PlanningControl &control; ///< is told each point; its stop ends the choice of points

  bool isStopped() const { return control.stop && control.stop->load(); }
};

} // namespace apc

// The ways in which single points of a training step are planned.
#pragma once

#include "../Points/PlanPoint.h"
#include "OwnBatch.h"

#include "apc/Planning/PipelineBound.h"

namespace apc {

/// Callbacks for a request that leaves no batch, recomputation, copies or workers open. They outlive the planner.
struct PointPlanner {
  using PlanAgainst = llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &, std::optional<double> known)>;
  using PlanLeast = llvm::function_ref<llvm::Expected<LeastPlan>(const PlanRequest &)>;
  using AddsOnly = llvm::function_ref<llvm::Expected<bool>(const PlanRequest &)>;
  using BoundOfRequest = llvm::function_ref<llvm::Expected<PipelineBound>(const PlanRequest &)>;

  PlanOfRequest whole;            ///< plans to the gap or the time limit
  PlanOfRequest explained;        ///< the same, and says why nothing fits
  PlanOfRequest quick;            ///< plans to the gap where memory does not bind, else until a good answer
  PlanAgainst first;              ///< plans until a good answer, for pipelines; slower ones than is known as they come
  PlanLeast least;                ///< plans for a bound of every policy
  AddsOnly onlyAdds;              ///< is nothing faster where more is recomputed?
  BoundOfRequest bound;           ///< `boundPipeline` of every policy, where the request keeps most
  const PlanningControl &control; ///< is told each point; its stop ends the choice of points

  /// \p other: outlives the planner.
  PointPlanner with(const PlanningControl &other) const {
    return {whole, explained, quick, first, least, onlyAdds, bound, other};
  }
  bool isStopped() const { return control.stop && control.stop->load(); }
  /// Is a pipeline known that stages can begin with? It is tried before the step without one.
  bool knowsPipeline() const { return control.knownLayout && control.knownLayout->pipeline > 1; }
};

} // namespace apc

// Single points of a request: the model imported once, its step built, planned, costed or bounded.
#pragma once

#include "apc/Plan/ParallelDegrees.h"
#include "apc/Planning/PipelineBound.h"

namespace apc {

/// Plans a request that leaves no batch and no recomputation open, or whose model is planned as it was exported.
/// Errors: those of importing, of training and of `planGraph`.
llvm::Expected<Plan> planPoint(const PlanRequest &request, const PlanningControl &control);
/// Costs a layout for a request that has its batches and its recomputation. Errors: the same, and of `evaluateLayout`.
llvm::Expected<Plan> evaluatePoint(const PlanRequest &request, const ParallelDegrees &layout,
                                   const PlanningControl &control);
/// `boundPipeline` of the step of a request. Errors: those of importing and of bounding.
llvm::Expected<PipelineBound> boundPoint(const PlanRequest &request, const PlanningControl &control);

/// The graph of the step of a request, and the SHA-256 of its model. Errors: those of importing and of training.
struct PointGraph {
  OpGraph graph;
  std::string sha256;
};
llvm::Expected<PointGraph> graphOfPoint(const PlanRequest &request);

} // namespace apc

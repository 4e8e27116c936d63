// Steps of the tiny models, as module and as graph.
#pragma once

#include "Samples.h"

#include "apc/Graph/OpGraph.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace apc {

/// A step of a model in models/tiny; of training with a global batch of 4.
struct TinyStep {
  std::string model;
  StepMode mode = StepMode::Train;
  OptimizerChoice optimizer = OptimizerChoice::Adam;
  RecomputeChoice recompute = RecomputeChoice::None;
  PrecisionChoice precision = PrecisionChoice::Model;
  int64_t microBatch = 2;
  std::optional<double> clipNorm = 1.0;
  int64_t globalBatch = 4;
};

PlanRequest requestOfStep(const TinyStep &step);

struct ImportedStep {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  OpGraph graph;
};

/// Fails the test where the model cannot be imported or trained.
ImportedStep importedStep(const PlanRequest &request);

} // namespace apc

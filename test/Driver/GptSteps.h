// Training steps of GPT models, and the bytes of their layouts, for figures that papers give.
#pragma once

#include "GptText.h"

#include "apc/Autodiff/TrainingStep.h"
#include "apc/Graph/OpGraph.h"
#include "apc/Plan/ParallelDegrees.h"
#include "apc/Plan/PlanRequest.h"

#include "mlir/IR/MLIRContext.h"

namespace apc {

/// How a model is trained; its loss is the sum of its result.
struct StepOf {
  RecomputePolicy recompute = RecomputePolicy::None;
  bool isFused = false; ///< attention is one op, as kernels have it
  Precision precision = Precision::Model;
  int64_t microBatches = 1;
};

/// A step by AdamW, and the context that it lives in.
struct GptStep {
  GptStep(const GptSizes &sizes, const StepOf &how);

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::optional<TrainingStep> step;
  OpGraph graph;
};

OpGraph graphOf(const GptSizes &sizes, const StepOf &how);

PlanRequest trainingOn(int64_t devices, const std::string &cluster = "dgx-h100");

/// Parameters, gradients and states of a device, in bytes.
int64_t stateBytes(const OpGraph &graph, const ParallelDegrees &layout);

/// Bytes of activations of the forward pass that are kept for the backward pass, views of one value once.
int64_t keptBytes(const OpGraph &graph, llvm::function_ref<int64_t(size_t)> bytesOf);

/// Of one layer among others on a device.
struct LayerBytes {
  int64_t kept = 0;    ///< of the values of the forward pass that are kept for the backward pass
  int64_t planned = 0; ///< in the plan's activations, where the memory is largest between both passes
};

/// On a device of tensor parallelism over `ways` devices. Norms, sums and dropout of a layer are whole, or cut along
/// the sequence. Gradients of several micro-batches are there all the time, so that the memory is largest between
/// passes.
LayerBytes layerBytesOn(int64_t ways, GptSizes sizes, const StepOf &how, bool isCut);
/// Those that are kept, for each s b h.
double keptPerLayerOn(int64_t ways, const GptSizes &sizes, const StepOf &how, bool isCut);

constexpr double giB = 1024.0 * 1024 * 1024, miB = 1024.0 * 1024;

} // namespace apc

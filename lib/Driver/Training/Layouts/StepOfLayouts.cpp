// The step that layouts are chosen for: its sizes, its pins, and whether there is one.
#include "LayoutReferences.h"

#include "../../Points/StepsAtHand.h"

#include "apc/Driver/ImportStep.h"
#include "apc/IR/Apc.h"
#include "apc/IR/MainFunction.h"
#include "apc/Transforms/BuildGraph.h"
#include "apc/Transforms/ChangeBatch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

llvm::Expected<StepOfLayouts> stepOfLayouts(const PlanRequest &request, int64_t devices) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model = importOnnx(request.modelPath, importOptionsOf(request), context);
  if (!model)
    return model.takeError();
  StepOfLayouts step;
  StepSizes &sizes = step.sizes;
  step.hasPins = !request.ignoresModelShardings &&
                 llvm::any_of(model->report.shardings,
                              [&](const NodeSharding &sharding) { return sharding.numDevices == devices; });
  if (request.globalBatch) {
    sizes.batch = *request.globalBatch;
  } else {
    llvm::Expected<int64_t> batch = batchOf(mainOf(*model->module));
    if (!batch)
      return batch.takeError();
    sizes.batch = *batch;
  }
  if (mlir::FailureOr<OpGraph> graph = buildGraph(*model->module); mlir::succeeded(graph)) {
    sizes.experts = numExperts(*graph);
    sizes.layers = numLayers(*graph);
    sizes.stages = mostStages(*graph);
  }
  return step;
}

llvm::Error checkStepOf(const PlanRequest &request) {
  PlanRequest own = request;
  own.microBatch.reset(); // whether the batch can be cut is checked elsewhere
  own.pipeline = {1};
  own.recompute = RecomputeChoice::None;
  return buildStep(own).takeError();
}

} // namespace apc

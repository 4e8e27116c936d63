// Settings of the model and of its batch as an import.
#include "apc/Driver/ImportStep.h"

#include "apc/Autodiff/ExpandGradients.h"
#include "apc/IR/MainFunction.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/ChangeBatch.h"

namespace apc {

static llvm::Error inPath(const PlanRequest &request, llvm::Error error) {
  auto [fault, message] = takeMessage(std::move(error));
  return llvm::make_error<PlannerError>(fault, request.modelPath + ": " + message);
}

ImportOptions importOptionsOf(const PlanRequest &request) {
  ImportOptions options;
  options.dims = request.dims;
  options.conditions = request.conditions;
  if (!request.parameters.empty())
    options.parameters = request.parameters;
  options.batch = request.microBatch ? request.microBatch : request.globalBatch;
  return options;
}

int64_t microBatchesOf(const PlanRequest &request) {
  return request.globalBatch && request.microBatch ? *request.globalBatch / *request.microBatch : 1;
}

/// The model with the gradients that it asks for itself as ops.
static llvm::Expected<ImportedModel> importExpanded(const PlanRequest &request, mlir::MLIRContext &context) {
  auto model = importOnnx(request.modelPath, importOptionsOf(request), context);
  if (model)
    if (llvm::Error error = expandGradients(mainOf(*model->module)))
      return inPath(request, std::move(error));
  return model;
}

llvm::Expected<int64_t> exportedBatch(const PlanRequest &request) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto model = importOnnx(request.modelPath, importOptionsOf(request), context);
  if (!model)
    return model.takeError();
  auto batch = batchOf(mainOf(*model->module));
  return batch ? std::move(batch) : inPath(request, batch.takeError());
}

llvm::Expected<ImportedModel> importForRequest(const PlanRequest &request, mlir::MLIRContext &context) {
  auto model = importExpanded(request, context);
  if (!model || !request.globalBatch || !request.microBatch)
    return model;
  if (*request.globalBatch % *request.microBatch != 0)
    return inputError("--global-batch {0} cannot be cut into micro-batches of {1}: --micro-batch must divide it",
                      *request.globalBatch, *request.microBatch);
  if (llvm::Error error = changeBatch(mainOf(*model->module), *request.microBatch))
    return inPath(request, std::move(error));
  return model;
}

/// Micro-batches of `mb` samples on each rank of dp.
static llvm::Error setMicroBatch(PlanRequest &request, const ParallelDegrees &layout) {
  int64_t size = *layout.microBatch * layout.data;
  if (request.microBatch && *request.microBatch != size)
    return inputError("--layout {0} has micro-batches of {1} samples, {2} on each of {3} ranks, and --micro-batch is "
                      "{4}; give one of them",
                      layout.str(), size, *layout.microBatch, layout.data, *request.microBatch);
  request.microBatch.reset();
  if (!request.globalBatch) {
    llvm::Expected<int64_t> batch = exportedBatch(request);
    if (!batch)
      return batch.takeError();
    request.globalBatch = *batch;
  }
  if (*request.globalBatch % size != 0)
    return inputError(
        "--layout {0}: a global batch of {1} cannot be cut into micro-batches of {2} samples, {3} on each "
        "of {4} ranks; mb and dp must divide it together",
        layout.str(), *request.globalBatch, size, *layout.microBatch, layout.data);
  request.microBatch = size;
  return llvm::Error::success();
}

llvm::Expected<PlanRequest> requestOfLayout(PlanRequest request, const ParallelDegrees &layout) {
  request.pins.clear();
  request.inputs.clear();
  request.ignoresModelShardings = true;
  if (request.mode == StepMode::Infer) {
    if (layout.microBatch || layout.recompute)
      return inputError("--layout {0}: mb and recompute belong to --mode train, and the mode is infer", layout.str());
    return request;
  }
  bool isOpen = request.recompute.policy == RecomputeChoice::None || request.recompute.policy == RecomputeChoice::Auto;
  if (layout.recompute && !isOpen && *layout.recompute != request.recompute)
    return inputError("--layout {0} and --recompute {1} say different things; give one of them", layout.str(),
                      request.recompute.str());
  if (layout.recompute)
    request.recompute = *layout.recompute;
  if (request.recompute == RecomputeChoice::Auto) // a layout has one policy
    request.recompute = RecomputeChoice::None;
  if (layout.microBatch)
    if (llvm::Error error = setMicroBatch(request, layout))
      return std::move(error);
  return request;
}

} // namespace apc

// The training step that a request asks for, and facts about it.
#include "apc/Driver/TrainModel.h"

#include "apc/Autodiff/DecomposeBatchNormalization.h"
#include "apc/Driver/ImportStep.h"
#include "apc/IR/Apc.h"
#include "apc/IR/MainFunction.h"
#include "apc/Import/OutputNames.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/RecognizeComposites.h"

namespace apc {

static bool hasNarrowWeights(mlir::func::FuncOp main) {
  return llvm::any_of(main.getOps<ParameterOp>(), [](ParameterOp parameter) {
    mlir::Type element = mlir::getElementTypeOrSelf(parameter.getOutput());
    return llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  });
}

/// Settings of something that the model does not have are refused, so that none is given in vain.
static llvm::Error checkSettings(mlir::func::FuncOp main, const PlanRequest &request) {
  if (request.fp32Gradients && request.precision == PrecisionChoice::Fp32 && !hasNarrowWeights(main))
    return inputError(
        "--fp32-gradients belongs to weights in 16 bits, as those of --precision bf16 and fp16; the model "
        "has none");
  if (request.batchNorm == BatchNormMode::Frozen && !takesBatchStatistics(main))
    return inputError("--batch-norm frozen belongs to models with batch normalisation; this one has none");
  if (request.backward == BackwardMode::Derived && !findHeldBackward(main, request.loss))
    return inputError("--backward derived belongs to models that hold a backward pass; this one holds none");
  return llvm::Error::success();
}

llvm::Expected<TrainingStep> requestedStep(mlir::ModuleOp model, const PlanRequest &request) {
  llvm::Expected<TrainingOptions> options = trainingOptionsOf(request);
  if (!options)
    return options.takeError();
  if (llvm::Error error = checkSettings(mainOf(model), request))
    return inModelOf(request, std::move(error));
  llvm::Expected<TrainingStep> step = buildTrainingStep(model, *options);
  if (!step)
    return inModelOf(request, step.takeError());
  if (step->held && request.pipeline.count.value_or(1) > 1)
    return inModelOf(request,
                     inputError("the model holds its own backward pass, which no pipeline can cut into stages; "
                                "--backward derived derives another one from its loss, which can be"));
  return step;
}

llvm::Error buildRequestedStep(mlir::OwningOpRef<mlir::ModuleOp> &module, const PlanRequest &request) {
  if (request.mode == StepMode::Infer)
    return llvm::Error::success();
  llvm::Expected<TrainingStep> step = requestedStep(*module, request);
  return step ? (module = std::move(step->module), llvm::Error::success()) : step.takeError();
}

llvm::Expected<PlanRequest> withoutOpenChoices(const PlanRequest &request) {
  bool isOpen = request.recompute == RecomputeChoice::Auto || !request.pipeline.count;
  isOpen |= request.globalBatch && !request.microBatch;
  if (request.mode == StepMode::Infer || request.backward == BackwardMode::Derived || !isOpen)
    return request;
  llvm::Expected<int64_t> outputs = countOutputs(request.modelPath);
  if (!outputs || *outputs < 2) // the import reports files that cannot be read
    return llvm::consumeError(outputs.takeError()), request;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model = importForRequest(request, context);
  if (!model)
    return model.takeError();
  PlanRequest own = request;
  if (!findHeldBackward(mainOf(*model->module), request.loss))
    return own;
  if (request.recompute == RecomputeChoice::Auto)
    own.recompute = RecomputeChoice::None;
  own.pipeline = request.pipeline.count ? request.pipeline : PipelineChoice{1};
  if (!request.globalBatch || request.microBatch)
    return own;
  PlanRequest asExported = request;
  asExported.globalBatch.reset();
  llvm::Expected<int64_t> batch = exportedBatch(asExported);
  if (!batch) // a symbol, which has any value
    return llvm::consumeError(batch.takeError()), own;
  own.microBatch = *batch;
  return own;
}

llvm::Expected<int64_t> repeatedLayers(const PlanRequest &request) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model = importForRequest(request, context);
  if (!model)
    return model.takeError();
  recognizeComposites(*model->module, /*trains=*/true);
  llvm::Expected<TrainingStep> step = requestedStep(*model->module, request);
  return step ? llvm::Expected<int64_t>(step->layers) : step.takeError();
}

llvm::Error recognizeAndBuildStep(mlir::OwningOpRef<mlir::ModuleOp> &module, const PlanRequest &request) {
  if (request.mode == StepMode::Infer)
    return llvm::Error::success();
  recognizeComposites(*module, /*trains=*/true);
  return buildRequestedStep(module, request);
}

} // namespace apc

// Settings of training as options of the training step.
#include "apc/Driver/TrainModel.h"

#include "apc/Support/Error.h"
#include "apc/Transforms/RecognizeComposites.h"

namespace apc {

llvm::Expected<TrainingOptions> trainingOptionsOf(const PlanRequest &request) {
  TrainingOptions options;
  options.loss = request.loss;
  options.optimizer.kind = *parseOptimizer(optimizerName(request.optimizer));
  options.clipNorm = request.clipNorm;
  options.freezesBatchNorm = request.batchNorm == BatchNormMode::Frozen;
  options.recompute = *parseRecompute(recomputeChoiceName(request.recompute));
  options.freeze = request.freeze;
  for (llvm::StringRef text : request.ties) {
    auto [first, second] = text.split('=');
    bool transposed = second.consume_back("^T");
    if (first.empty() || second.empty() || second.contains('='))
      return inputError("--tie '{0}': two names of parameters are expected, A=B, or A=B^T where B holds A transposed",
                        text);
    options.ties.push_back({first.str(), second.str(), transposed});
  }
  return options;
}

llvm::Expected<TrainingStep> requestedStep(mlir::ModuleOp model, const PlanRequest &request) {
  llvm::Expected<TrainingOptions> options = trainingOptionsOf(request);
  if (!options)
    return options.takeError();
  llvm::Expected<TrainingStep> step = buildTrainingStep(model, *options);
  if (!step) {
    auto [fault, message] = takeMessage(step.takeError());
    return llvm::make_error<PlannerError>(fault, request.modelPath + ": " + message);
  }
  return step;
}

llvm::Error buildRequestedStep(mlir::OwningOpRef<mlir::ModuleOp> &module, const PlanRequest &request) {
  if (request.mode == StepMode::Infer)
    return llvm::Error::success();
  llvm::Expected<TrainingStep> step = requestedStep(*module, request);
  if (!step)
    return step.takeError();
  module = std::move(step->module);
  return llvm::Error::success();
}

llvm::Error recognizeAndBuildStep(mlir::OwningOpRef<mlir::ModuleOp> &module, const PlanRequest &request) {
  if (request.mode == StepMode::Train)
    recognizeComposites(*module);
  return buildRequestedStep(module, request);
}

} // namespace apc

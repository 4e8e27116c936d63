// A training step with remarks on it.
#include "apc/Autodiff/DecomposeBatchNormalization.h"
#include "apc/Autodiff/MixedSamples.h"
#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/MainFunction.h"
#include "apc/Transforms/RecognizeComposites.h"

namespace apc {

/// The backward pass that a model holds, and what follows; "" where it is not planned as it is.
static std::string heldNote(mlir::ModuleOp module, const PlanRequest &request) {
  std::optional<HeldBackward> held;
  if (request.mode == StepMode::Train && request.backward == BackwardMode::Held)
    held = findHeldBackward(mainOf(module), request.loss);
  if (!held)
    return "";
  llvm::StringRef without = held->updatesWeights() ? "another optimizer, micro-batches, recomputation and a pipeline"
                                                   : "recomputation and a pipeline";
  return llvm::formatv("the model holds its backward pass{0}: {1}; it is planned as it is, without {2}; --backward "
                       "derived derives another one from the loss",
                       held->updatesWeights() ? " and its optimizer" : "", describeHeld(mainOf(module), *held),
                       without);
}

/// The note on an op by which samples depend on each other, of a step in micro-batches or copies.
static std::string mixingNote(mlir::ModuleOp module, const PlanRequest &request) {
  const std::string mixer = mixerOfSamples(mainOf(module));
  if (mixer.empty())
    return "";
  return llvm::formatv("samples of a batch depend on each other (op '{0}'): {1} of {2} samples know only their own, so "
                       "that the step is not that of the whole batch",
                       mixer, copiesOf(request) > 1 ? "copies" : "micro-batches",
                       *request.microBatch / copiesOf(request));
}

/// Remarks on the step that a request asks for, of `module`, a forward pass.
static std::vector<std::string> notesOfModel(mlir::ModuleOp module, const PlanRequest &request) {
  if (std::string held = heldNote(module, request); !held.empty())
    return {held};
  const int64_t copies = copiesOf(request);
  if (request.mode == StepMode::Infer || microBatchesOf(request) * copies == 1)
    return {};
  if (!takesBatchStatistics(mainOf(module))) {
    std::string mixing = mixingNote(module, request);
    return mixing.empty() ? std::vector<std::string>() : std::vector<std::string>{mixing};
  }
  if (request.batchNorm == BatchNormMode::Frozen)
    return {};
  return {llvm::formatv("batch normalisation takes the statistics of each {0} of {1} samples, not of all {2}: "
                        "the step is not that of the whole batch",
                        copies > 1 ? "copy" : "micro-batch", *request.microBatch / copies, *request.globalBatch)
              .str()};
}

llvm::Expected<std::vector<std::string>> buildNotedStep(mlir::OwningOpRef<mlir::ModuleOp> &module,
                                                        const PlanRequest &request) {
  std::vector<std::string> notes = notesOfModel(*module, request);
  if (request.mode == StepMode::Infer)
    return notes;
  recognizeComposites(*module, /*trains=*/true);
  llvm::Expected<TrainingStep> step = requestedStep(*module, request);
  if (!step)
    return step.takeError();
  if (!step->lossUnknownSince.empty())
    notes.push_back(llvm::formatv("the loss is no sum or mean over samples (op '{0}'): {1} take the mean of theirs, so "
                                  "that the step is not that of the whole batch",
                                  step->lossUnknownSince, copiesOf(request) > 1 ? "copies" : "micro-batches"));
  module = std::move(step->module);
  return notes;
}

} // namespace apc

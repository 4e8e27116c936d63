// From a request to the module that is planned: the forward pass, or a training step.
#pragma once

#include "apc/Autodiff/TrainingStep.h"
#include "apc/Plan/PlanRequest.h"

namespace apc {

/// The sides of a tie as it is written, "A=B" or "A=B^T". They are not checked.
TiedParameters tiedBy(llvm::StringRef tie);

/// The options of a training step that a request asks for. Errors (input): a tie that is not of the form A=B.
llvm::Expected<TrainingOptions> trainingOptionsOf(const PlanRequest &request);

/// Settings of a pipeline are refused without one, so that none is given in vain (input).
llvm::Error checkPipelineSettings(const PlanRequest &request);

/// The training step of `model`, a forward pass, whatever the mode. Errors (input) are those of `buildTrainingStep`,
/// and a pipeline for a model that holds its backward pass; they begin with the model's path.
llvm::Expected<TrainingStep> requestedStep(mlir::ModuleOp model, const PlanRequest &request);

/// With `--mode train` replaces `module`, a forward pass, by its training step; else leaves it alone. Errors as above.
llvm::Error buildRequestedStep(mlir::OwningOpRef<mlir::ModuleOp> &module, const PlanRequest &request);

/// The same, with composites recognised before: gradients of a LayerNormalization, not of its parts. A forward pass is
/// left alone here, too.
llvm::Error recognizeAndBuildStep(mlir::OwningOpRef<mlir::ModuleOp> &module, const PlanRequest &request);
/// The same, with remarks on the step: a backward pass that the model holds, statistics of each micro-batch, a loss
/// that micro-batches do not add up to.
llvm::Expected<std::vector<std::string>> buildNotedStep(mlir::OwningOpRef<mlir::ModuleOp> &module,
                                                        const PlanRequest &request);

/// `request` without choices that a backward pass which the model holds does not allow, where they are left open: no
/// recomputation, no pipeline, and micro-batches of the samples that the model was exported for. Other models leave it
/// as it is; files of one output are not imported for it. Errors (input) are those of the import.
llvm::Expected<PlanRequest> withoutOpenChoices(const PlanRequest &request);

/// The layers of the model that repeat, as far as a training step may recompute them one by one. Errors as above.
llvm::Expected<int64_t> repeatedLayers(const PlanRequest &request);

} // namespace apc

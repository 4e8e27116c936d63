// Requests for steps, and the way from them to graphs.
#include "TinySteps.h"

#include "../ValueOf.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

namespace apc {

PlanRequest requestOfStep(const TinyStep &step) {
  PlanRequest request = requestOf(Sample{"tiny/" + step.model + "/model.onnx"});
  request.mode = step.mode;
  if (step.mode == StepMode::Train) {
    bool isSquare = std::set<std::string>{"unet", "dlrm", "mixer", "tts"}.count(step.model) == 1;
    request.loss = isSquare ? "mse" : step.model == "bert" ? "cross-entropy:logits" : "cross-entropy";
    request.precision = step.precision;
    request.optimizer = step.optimizer;
    request.globalBatch = step.globalBatch;
    request.microBatch = step.microBatch;
    request.clipNorm = step.clipNorm;
    request.recompute = step.recompute;
  }
  return request;
}

ImportedStep importedStep(const PlanRequest &request) {
  ImportedStep step;
  step.context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  step.context->loadDialect<ApcDialect, mlir::func::FuncDialect>();
  ImportedModel model = valueOf(importForRequest(request, *step.context));
  if (llvm::Error error = recognizeAndBuildStep(model.module, request))
    FAIL(takeMessage(std::move(error)).second);
  step.graph = valueOf(graphOfModel(*model.module, request.modelPath));
  step.module = std::move(model.module);
  return step;
}

} // namespace apc

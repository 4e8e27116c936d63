// Settings of the model and of its batch as an import.
#include "apc/Driver/ImportStep.h"

#include "Points/NumbersOfBatch.h"

#include "apc/Autodiff/ExpandGradients.h"
#include "apc/Autodiff/HeldBackward.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/MainFunction.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"
#include "apc/Transforms/ChangeBatch.h"

namespace apc {

llvm::Error inModelOf(const PlanRequest &request, llvm::Error error) {
  auto [fault, message] = takeMessage(std::move(error));
  return llvm::make_error<PlannerError>(fault, request.modelPath + ": " + message);
}

ImportOptions importOptionsOf(const PlanRequest &request) {
  ImportOptions options;
  options.dims = request.dims;
  options.values = request.values;
  options.conditions = request.conditions;
  options.strict = request.strict;
  for (const OperatorText &given : request.operators)
    options.operators[given.name] = {given.rule, given.flopsPerPoint};
  for (llvm::StringRef text : request.ties) {
    TiedParameters tied = tiedBy(text);
    options.tied.insert({tied.first, tied.second});
  }
  if (!request.parameters.empty())
    options.parameters = request.parameters;
  options.batch = request.microBatch ? request.microBatch : request.globalBatch;
  if (options.batch && *options.batch % copiesOf(request) == 0)
    *options.batch /= copiesOf(request);
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
      return inModelOf(request, std::move(error));
  return model;
}

llvm::Expected<int64_t> exportedBatch(const PlanRequest &request) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto model = importOnnx(request.modelPath, importOptionsOf(request), context);
  if (!model)
    return model.takeError();
  auto batch = batchOf(mainOf(*model->module));
  return batch ? std::move(batch) : inModelOf(request, batch.takeError());
}

/// Numbers of a backward pass that a model holds, such as what a mean is divided by, may be those of its own batch.
static llvm::Error checkHeldBatch(mlir::func::FuncOp main, const PlanRequest &request, int64_t batch) {
  llvm::Expected<int64_t> own = batchOf(main);
  if (!own) // as the change of the batch will say
    return llvm::consumeError(own.takeError()), llvm::Error::success();
  bool mayChange = *own == batch || request.mode == StepMode::Infer || request.backward == BackwardMode::Derived;
  if (mayChange || !findHeldBackward(main, request.loss))
    return llvm::Error::success();
  return inputError(
      "the model holds its own backward pass, made for {0}: micro-batches of as many are accepted, not of "
      "{1}; --backward derived derives another one from its loss, which has any batch",
      counted(*own, "sample"), batch);
}

llvm::Expected<ImportedModel> importForRequest(const PlanRequest &request, mlir::MLIRContext &context) {
  auto model = importExpanded(request, context);
  if (model && request.mode == StepMode::Train)
    if (llvm::Error error = checkSamples(mainOf(*model->module)))
      return inModelOf(request, std::move(error));
  if (!model || !request.globalBatch || !request.microBatch)
    return model;
  if (*request.globalBatch % *request.microBatch != 0)
    return inputError("--global-batch {0} cannot be cut into micro-batches of {1}: a multiple of {1} is accepted, or a "
                      "--micro-batch that divides {0}",
                      *request.globalBatch, *request.microBatch);
  if (*request.microBatch % copiesOf(request) != 0)
    return inputError("--copies {0}: a micro-batch of {1} cannot be cut into {0} equal copies; divisors of {2} are "
                      "accepted, or another --micro-batch",
                      copiesOf(request), counted(*request.microBatch, "sample"), *request.microBatch);
  const int64_t batch = *request.microBatch / copiesOf(request);
  if (request.mode == StepMode::Train && batch < *request.globalBatch)
    markNumbersOfBatch(mainOf(*model->module), request, batch, context);
  if (llvm::Error error = checkHeldBatch(mainOf(*model->module), request, batch))
    return inModelOf(request, std::move(error));
  if (llvm::Error error = changeBatch(mainOf(*model->module), batch))
    return inModelOf(request, std::move(error));
  return model;
}

} // namespace apc

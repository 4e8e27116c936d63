// From a plan to its program.
#include "apc/Driver/PlannedProgram.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/FindParts.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/ChangeBatch.h"
#include "apc/Transforms/KeepLayers.h"
#include "apc/Transforms/RecognizeComposites.h"
#include "apc/Transforms/ScaleHidden.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

static PlanRequest requestFor(PlanRequest request, std::string modelPath, const Shrinkage &shrinkage) {
  request.modelPath = std::move(modelPath);
  for (const auto &[name, size] : shrinkage.dims)
    request.dims[name] = size;
  return request;
}

/// Makes both forward passes smaller.
static llvm::Error shrink(PlannedProgram &planned, const Shrinkage &shrinkage) {
  for (mlir::ModuleOp module : {*planned.imported, *planned.original})
    if (auto gone = shrinkage.layers ? keepLayers(module, *shrinkage.layers) : llvm::Expected<unsigned>(0); !gone)
      return gone.takeError();
  if (!shrinkage.hiddenDivisor)
    return llvm::Error::success();
  if (llvm::Expected<unsigned> scaled = scaleHidden(*planned.original, *shrinkage.hiddenDivisor); !scaled)
    return scaled.takeError();
  planned.imported = planned.original->clone(); // slices of heads do not scale, composites do
  return llvm::Error::success();
}

/// False where the parts of composites compute something else: those of a normalisation round statistics in low
/// precision that the composite keeps.
static bool isJudgedApart(const PlanRequest &request) {
  return request.precision == PrecisionChoice::Model || request.precision == PrecisionChoice::Fp32;
}

static bool returnAlike(mlir::ModuleOp a, mlir::ModuleOp b) {
  return namePlan(mainOf(a)).outputValues == namePlan(mainOf(b)).outputValues;
}

/// Does the plan have an op for the statistics that this op's parts exchange?
static bool hasStatistics(const Plan &plan, llvm::StringRef op) {
  auto isStatistic = [&](const PlanChoice &choice) {
    llvm::StringRef name = choice.op;
    return name.consume_front(op) && (name == ".statistics" || name == ".log_sum");
  };
  return llvm::any_of(plan.stages, [&](const StagePlan &stage) { return llvm::any_of(stage.choices, isStatistic); });
}

/// Errors (input): a dim that the model has not, which the import leaves at a note.
static llvm::Error checkDims(const ImportReport &report, const Shrinkage &shrinkage) {
  for (const auto &[name, note] : report.unknownDims)
    if (shrinkage.dims.count(name))
      return inputError("{0}", note);
  return llvm::Error::success();
}

llvm::Expected<PlannedProgram> importPlanned(const Plan &plan, std::optional<std::string> modelPath,
                                             const Shrinkage &shrinkage) {
  PlannedProgram result;
  result.modelPath = modelPath.value_or(plan.request.modelPath);
  result.context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  result.context->loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model =
      importForRequest(requestFor(plan.request, result.modelPath, shrinkage), *result.context);
  if (!model)
    return model.takeError();
  if (llvm::Error error = checkDims(model->report, shrinkage))
    return std::move(error);
  if (model->report.sha256 != plan.modelSha256)
    return inputError("{0}: the model has changed since it was planned (SHA-256 {1}, the plan says {2}); plan it again",
                      result.modelPath, model->report.sha256, plan.modelSha256);
  markBatch(mainOf(*model->module));
  result.folded = std::move(model->folded);
  result.imported = std::move(model->module);
  result.original = result.imported->clone();
  recognizeComposites(*result.original, /*trains=*/false, [&](llvm::StringRef op) { return hasStatistics(plan, op); });
  if (llvm::Error error = shrink(result, shrinkage))
    return error;
  if (llvm::Error error = buildRequestedStep(result.original, plan.request))
    return error;
  if (!isJudgedApart(plan.request)) {
    result.imported = result.original->clone();
    return result;
  }
  llvm::Error error = buildRequestedStep(result.imported, plan.request);
  if (error || !returnAlike(*result.imported, *result.original)) {
    // An op without a gradient may be part of a composite that has one, and a composite may take constants in.
    llvm::consumeError(std::move(error));
    result.imported = result.original->clone();
  }
  return result;
}

llvm::Expected<PlannedProgram> buildProgram(const Plan &plan, std::optional<std::string> modelPath) {
  llvm::Expected<PlannedProgram> result = importPlanned(plan, std::move(modelPath));
  if (!result)
    return result;
  findParts(*result->original);
  return withProgram(std::move(*result), plan);
}

} // namespace apc

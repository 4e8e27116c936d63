// One case of training: on one device, then as the programs of all searches and device counts.
#include "ConformanceCase.h"
#include "TrainingPlans.h"

#include "apc/Autodiff/DecomposeBatchNormalization.h"
#include "apc/Autodiff/MixedSamples.h"
#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/Import/StoredNumbers.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/ChangeBatch.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

class TrainingRunner {
public:
  TrainingRunner(const std::string &folder, const ConformanceOptions &options)
      : folder(folder), options(options), context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  }

  llvm::Expected<CaseResult> run();

private:
  llvm::Error load();
  llvm::Error readAllExpected();
  ParameterSource initial() const;
  /// The first fault of a step on one device; empty when there is none.
  TrainingFault judgeStep(mlir::ModuleOp built);
  /// The first fault of a step in which composites are not recognised; empty when there is none.
  TrainingFault judgeApart();
  /// Runs the step with every recompute policy on one device, and the programs of those that recompute nothing and
  /// most.
  TrainingFault judgeRecomputed();
  TrainingFault judgeFirstLayers(int64_t layers);
  /// Runs the step in several micro-batches: as many as the case says, else two. Nothing is run where statistics of
  /// micro-batches are not those of the batch, or where the model is bound to its batch, which `remark` then says.
  TrainingFault judgeAccumulated();
  /// `smaller` is the model with the shapes of one micro-batch.
  TrainingFault judgeAccumulated(mlir::ModuleOp smaller, int64_t count, RecomputePolicy policy);

  std::string folder;
  const ConformanceOptions &options;
  mlir::MLIRContext context;
  TrainingCase own;
  std::optional<ModelData> data;
  std::optional<ImportedModel> model;
  mlir::OwningOpRef<mlir::ModuleOp> apart; ///< the model with composites apart
  std::optional<TrainingStep> step;
  std::optional<TrainingPlans> plans;
  std::string remark;
};

llvm::Error TrainingRunner::load() {
  auto read = readTrainingCase(folder, context);
  if (!read)
    return read.takeError();
  own = std::move(*read);
  auto opened = ModelData::open(own.modelPath);
  if (!opened)
    return opened.takeError();
  data.emplace(std::move(*opened));
  auto imported = importOnnx(own.modelPath, {}, context);
  if (!imported)
    return imported.takeError();
  model.emplace(std::move(*imported));
  apart = model->module->clone();
  recognizeComposites(*model->module);
  auto built = buildTrainingStep(*model->module, own.options);
  if (!built)
    return built.takeError();
  step.emplace(std::move(*built));
  return readAllExpected();
}

llvm::Error TrainingRunner::readAllExpected() {
  std::vector<std::string> trained;
  for (const ParameterUse &use : step->parameters)
    if (use.isTrained)
      trained.push_back(use.name);
  auto gradients = readExpected(folder + "/expected/gradients", trained, context);
  if (!gradients)
    return gradients.takeError();
  auto parameters = readExpected(folder + "/expected/parameters", trained, context);
  if (!parameters)
    return parameters.takeError();
  own.gradients = std::move(*gradients);
  own.parameters = std::move(*parameters);
  return llvm::Error::success();
}

ParameterSource TrainingRunner::initial() const {
  return [this](ParameterOp parameter) -> llvm::Expected<Tensor> {
    llvm::Expected<Tensor> tensor = storedNumbers(parameter, *data, &model->folded);
    if (tensor && tensor->isFloat()) {
      tensor->element = wholeTypeOf(parameter).getElementType();
      roundToElement(*tensor);
    }
    return tensor;
  };
}

TrainingFault TrainingRunner::judgeStep(mlir::ModuleOp built) {
  return judgeTraining(built, own, initial(), [&](llvm::ArrayRef<Tensor> arguments, const ParameterSource &source) {
    return apc::run(built, arguments, source);
  });
}

TrainingFault TrainingRunner::judgeApart() {
  auto built = buildTrainingStep(*apart, own.options);
  if (!built)
    return built.takeError();
  return at("with composites apart on one device: ", judgeStep(*built->module));
}

TrainingFault TrainingRunner::judgeRecomputed() {
  for (llvm::StringRef name : recomputeNames()) {
    TrainingOptions recomputing = own.options;
    recomputing.recompute = *parseRecompute(name);
    auto built = buildTrainingStep(*model->module, recomputing);
    if (!built)
      return built.takeError();
    std::string place = ("with recompute " + name + " on ").str();
    auto fault = at(place + "one device: ", judgeStep(*built->module));
    if (!fault || *fault)
      return fault;
    bool isMost = recomputing.recompute == RecomputePolicy::Full;
    if (isMost && options.deviceCounts.empty())
      fault = at(place + "2 devices: ", plans->judgePlan(*built->module, 2));
    else if (isMost || recomputing.recompute == RecomputePolicy::None)
      fault = plans->judgeAll(*built->module, ("with recompute " + name).str());
    if (fault && !*fault && recomputing.recompute == RecomputePolicy::None)
      fault = plans->judgeBuckets(*built->module, "", 2);
    if (!fault || *fault)
      return fault;
    if (isMost && built->layers > 1)
      return judgeFirstLayers(built->layers / 2);
  }
  return std::nullopt;
}

/// So many layers, the first ones, recompute everything, and the others their norms.
TrainingFault TrainingRunner::judgeFirstLayers(int64_t layers) {
  TrainingOptions recomputing = own.options;
  recomputing.recompute = RecomputePolicy::Full;
  recomputing.recomputedLayers = layers;
  recomputing.recomputeRest = RecomputePolicy::Norms;
  auto built = buildTrainingStep(*model->module, recomputing);
  if (!built)
    return built.takeError();
  std::string place = llvm::formatv("with recompute full:{0},norms on ", layers).str();
  auto fault = at(place + "one device: ", judgeStep(*built->module));
  return !fault || *fault ? std::move(fault) : at(place + "2 devices: ", plans->judgePlan(*built->module, 2));
}

TrainingFault TrainingRunner::judgeAccumulated() {
  int64_t count = std::max<int64_t>(own.microBatches, 2), batch = own.batches[0][0].dims[0];
  bool hasStatistics = !own.options.freezesBatchNorm && takesBatchStatistics(mainOf(*model->module));
  if (batch % count != 0 || hasStatistics)
    return std::nullopt;
  if (std::string mixer = mixerOfSamples(mainOf(*apart)); !mixer.empty()) {
    remark = "; not in micro-batches: samples depend on each other by '" + mixer + "'";
    return std::nullopt;
  }
  mlir::OwningOpRef<mlir::ModuleOp> smaller = apart->clone();
  if (llvm::Error error = changeBatch(mainOf(*smaller), batch / count)) {
    remark = "; not in micro-batches: " + takeMessage(std::move(error)).second;
    return std::nullopt;
  }
  recognizeComposites(*smaller);
  remark = llvm::formatv("; in {0} micro-batches, too", count);
  for (RecomputePolicy policy : {RecomputePolicy::None, RecomputePolicy::Full})
    if (policy == RecomputePolicy::None || options.allInMicroBatches)
      if (auto fault = judgeAccumulated(*smaller, count, policy); !fault || *fault)
        return fault;
  return std::nullopt;
}

TrainingFault TrainingRunner::judgeAccumulated(mlir::ModuleOp smaller, int64_t count, RecomputePolicy policy) {
  TrainingOptions accumulating = own.options;
  accumulating.microBatches = count;
  accumulating.recompute = policy;
  auto built = buildTrainingStep(smaller, accumulating);
  if (!built)
    return built.takeError();
  std::string with = llvm::formatv("in {0} micro-batches", count);
  if (policy != RecomputePolicy::None)
    with += (" with recompute " + recomputeName(policy)).str();
  auto fault = at(with + " on one device: ", judgeStep(*built->module));
  if (options.allInMicroBatches && fault && !*fault)
    fault = plans->judgeAll(*built->module, with);
  else
    for (int64_t devices : options.deviceCounts)
      if (fault && !*fault)
        fault = at(llvm::formatv("{0} on {1} devices: ", with, devices), plans->judgePlan(*built->module, devices));
  if (fault && !*fault && policy == RecomputePolicy::None)
    fault = plans->judgeBuckets(*built->module, with + ", ", 2);
  return fault;
}

llvm::Expected<CaseResult> TrainingRunner::run() {
  if (llvm::Error error = load())
    return error;
  plans.emplace(own, initial(), options);
  bool isRounded = own.options.precision == Precision::Bf16 || own.options.precision == Precision::Fp16;
  TrainingFault fault = std::optional<std::string>();
  if (!isRounded) // parts of composites round statistics that the composites keep
    fault = judgeApart();
  if (fault && !*fault)
    fault = judgeRecomputed(); // without recomputation first
  if (fault && !*fault)
    fault = judgeAccumulated();
  if (!fault)
    return fault.takeError();
  if (*fault)
    return CaseResult{Verdict::Failed, **fault};
  std::string text =
      llvm::formatv("{0} steps on one device and by {1}{2}", own.batches.size(), plans->countsText(), remark);
  if (!plans->tooLarge().empty())
    text += "; too large for " + llvm::join(plans->tooLarge(), ", ");
  return CaseResult{Verdict::Passed, text};
}

} // namespace

CaseResult runTrainingCase(const std::string &folder, const ConformanceOptions &options) {
  auto result = TrainingRunner(folder, options).run();
  return result ? *result : CaseResult{Verdict::Failed, takeMessage(result.takeError()).second};
}

} // namespace apc

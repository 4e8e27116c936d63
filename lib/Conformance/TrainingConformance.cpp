// One case of training: on one device, then as the programs of all searches and device counts.
#include "ConformanceCase.h"
#include "TrainingRun.h"

#include "apc/Autodiff/DecomposeBatchNormalization.h"
#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/Import/Import.h"
#include "apc/Interpret/Grid.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Planning/Planning.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/BuildGraph.h"
#include "apc/Transforms/ChangeBatch.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

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
  llvm::Expected<std::optional<std::string>> judgeStep(mlir::ModuleOp built);
  /// The first fault of the plan of a request; empty when there is none.
  llvm::Expected<std::optional<std::string>> judgePlan(mlir::ModuleOp built, PlanRequest request);
  /// The request of a plan on `devices`.
  PlanRequest requestOn(int64_t devices) const;
  /// The first fault of data parallelism with gradients exchanged in buckets of several sizes, and each alone.
  llvm::Expected<std::optional<std::string>> judgeBuckets(mlir::ModuleOp built, const std::string &place,
                                                          int64_t devices);
  /// The first fault of all programs of a step, for every number of devices and search; they are counted.
  llvm::Expected<std::optional<std::string>> judgePrograms(mlir::ModuleOp built, const std::string &policy);
  /// The first fault of a step in which composites are not recognised; empty when there is none.
  llvm::Expected<std::optional<std::string>> judgeApart();
  /// Runs the step with every recompute policy on one device, and the programs of those that recompute nothing and
  /// most.
  llvm::Expected<std::optional<std::string>> judgeRecomputed();
  llvm::Expected<std::optional<std::string>> judgeFirstLayers(int64_t layers);
  /// Runs the step in several micro-batches: as many as the case says, else two. Nothing is run where statistics of
  /// micro-batches are not those of the batch, or where the model is bound to its batch, which `remark` then says.
  llvm::Expected<std::optional<std::string>> judgeAccumulated();
  /// A search may find a problem too large; the default one may not.
  llvm::Error refuse(llvm::Error error, llvm::StringRef search, int64_t devices);

  std::string folder;
  const ConformanceOptions &options;
  mlir::MLIRContext context;
  TrainingCase own;
  std::optional<ModelData> data;
  std::optional<ImportedModel> model;
  mlir::OwningOpRef<mlir::ModuleOp> apart; ///< the model with composites apart
  std::optional<TrainingStep> step;
  unsigned programs = 0;
  std::string remark;
  std::set<std::string> refused; ///< "ilp on 8 devices"
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
    auto type = llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType());
    if (auto shape = parameter->getAttrOfType<mlir::DenseI64ArrayAttr>(shapeAttribute))
      type = mlir::RankedTensorType::get(shape.asArrayRef(), type.getElementType());
    if (parameter.getSource() == zerosSource)
      return zeros(type);
    llvm::StringRef name = parameter.getName();
    if (parameter.getSource() == masterSource)
      name.consume_back(masterSuffix);
    auto folded = model->folded.find(name.str());
    auto tensor = folded == model->folded.end() ? data->tensor(name, *parameter->getContext())
                                                : llvm::Expected<Tensor>(Tensor::read(folded->second));
    if (tensor && tensor->isFloat()) {
      tensor->element = type.getElementType();
      roundToElement(*tensor);
    }
    return tensor;
  };
}

llvm::Expected<std::optional<std::string>> TrainingRunner::judgeStep(mlir::ModuleOp built) {
  return judgeTraining(built, own, initial(), [&](llvm::ArrayRef<Tensor> arguments, const ParameterSource &source) {
    return apc::run(built, arguments, source);
  });
}

/// The fault, if there is one, with the place where it is.
static llvm::Expected<std::optional<std::string>> at(const std::string &place,
                                                     llvm::Expected<std::optional<std::string>> fault) {
  if (!fault)
    return place + takeMessage(fault.takeError()).second;
  if (*fault)
    return place + **fault;
  return std::nullopt;
}

PlanRequest TrainingRunner::requestOn(int64_t devices) const {
  PlanRequest request;
  request.modelPath = own.modelPath;
  request.mode = StepMode::Train;
  request.cluster = "cpu-local";
  request.devices = devices;
  return request;
}

llvm::Expected<std::optional<std::string>> TrainingRunner::judgePlan(mlir::ModuleOp built, PlanRequest request) {
  auto graph = graphOfModel(built, own.modelPath);
  if (!graph)
    return graph.takeError();
  auto target = readTarget(request);
  if (!target)
    return target.takeError();
  auto plan = planGraph(*graph, request, *target, {}, {});
  if (!plan) {
    if (llvm::Error error = refuse(plan.takeError(), request.search, request.devices))
      return error;
    return std::nullopt;
  }
  auto program = partition(built, *plan);
  if (!program)
    return program.takeError();
  auto proof = verifyProgram(built, *program, *plan);
  if (!proof)
    return proof.takeError();
  ++programs;
  return judgeTraining(built, own, initial(), [&](llvm::ArrayRef<Tensor> arguments, const ParameterSource &source) {
    return runGrid(*program, arguments, source);
  });
}

llvm::Expected<std::optional<std::string>> TrainingRunner::judgeBuckets(mlir::ModuleOp built, const std::string &place,
                                                                        int64_t devices) {
  constexpr int64_t few = 2048; // bytes: some gradients fit together, others do not
  for (std::optional<int64_t> bytes : {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional(few)}) {
    PlanRequest request = requestOn(devices);
    request.parallel = ParallelMode::Data;
    request.fusionBytes = bytes;
    std::string size = bytes ? std::to_string(*bytes) + " bytes" : "as many bytes as the links want";
    auto fault = at(llvm::formatv("{0}data parallel on {1} devices, in buckets of {2}: ", place, devices, size),
                    judgePlan(built, std::move(request)));
    if (!fault || *fault)
      return fault;
  }
  return std::nullopt;
}

llvm::Error TrainingRunner::refuse(llvm::Error error, llvm::StringRef search, int64_t devices) {
  auto [fault, message] = takeMessage(std::move(error));
  if (fault != Fault::Input || search == defaultSearch)
    return llvm::make_error<PlannerError>(fault, message);
  refused.insert(llvm::formatv("{0} on {1} devices", search, devices));
  return llvm::Error::success();
}

llvm::Expected<std::optional<std::string>> TrainingRunner::judgePrograms(mlir::ModuleOp built,
                                                                         const std::string &policy) {
  for (int64_t devices : options.deviceCounts)
    for (const Search &search : allSearches()) {
      bool isWanted = options.searches.empty() ? search.name != "exhaustive" // too many assignments
                                               : llvm::is_contained(options.searches, search.name);
      if (!isWanted)
        continue;
      std::string place =
          llvm::formatv("with recompute {0} on {1} devices by search {2}: ", policy, devices, search.name);
      PlanRequest request = requestOn(devices);
      request.search = search.name.str();
      auto fault = at(place, judgePlan(built, std::move(request)));
      if (!fault || *fault)
        return fault;
    }
  return std::nullopt;
}

llvm::Expected<std::optional<std::string>> TrainingRunner::judgeApart() {
  auto built = buildTrainingStep(*apart, own.options);
  if (!built)
    return built.takeError();
  return at("with composites apart on one device: ", judgeStep(*built->module));
}

llvm::Expected<std::optional<std::string>> TrainingRunner::judgeRecomputed() {
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
      fault = at(place + "2 devices: ", judgePlan(*built->module, requestOn(2)));
    else if (isMost || recomputing.recompute == RecomputePolicy::None)
      fault = judgePrograms(*built->module, name.str());
    if (fault && !*fault && recomputing.recompute == RecomputePolicy::None)
      fault = judgeBuckets(*built->module, "", 2);
    if (!fault || *fault)
      return fault;
    if (isMost && built->layers > 1)
      return judgeFirstLayers(built->layers / 2);
  }
  return std::nullopt;
}

/// So many layers, the first ones, recompute everything.
llvm::Expected<std::optional<std::string>> TrainingRunner::judgeFirstLayers(int64_t layers) {
  TrainingOptions recomputing = own.options;
  recomputing.recompute = RecomputePolicy::Full;
  recomputing.recomputedLayers = layers;
  auto built = buildTrainingStep(*model->module, recomputing);
  if (!built)
    return built.takeError();
  std::string place = llvm::formatv("with recompute full:{0} on ", layers).str();
  auto fault = at(place + "one device: ", judgeStep(*built->module));
  return !fault || *fault ? std::move(fault) : at(place + "2 devices: ", judgePlan(*built->module, requestOn(2)));
}

llvm::Expected<std::optional<std::string>> TrainingRunner::judgeAccumulated() {
  int64_t count = std::max<int64_t>(own.microBatches, 2), batch = own.batches[0][0].dims[0];
  bool hasStatistics = !own.options.freezesBatchNorm && takesBatchStatistics(mainOf(*model->module));
  if (batch % count != 0 || hasStatistics)
    return std::nullopt;
  mlir::OwningOpRef<mlir::ModuleOp> smaller = apart->clone();
  if (llvm::Error error = changeBatch(mainOf(*smaller), batch / count)) {
    remark = "; not in micro-batches: " + takeMessage(std::move(error)).second;
    return std::nullopt;
  }
  recognizeComposites(*smaller);
  TrainingOptions accumulating = own.options;
  accumulating.microBatches = count;
  auto built = buildTrainingStep(*smaller, accumulating);
  if (!built)
    return built.takeError();
  std::string place = llvm::formatv("in {0} micro-batches on ", count);
  auto fault = at(place + "one device: ", judgeStep(*built->module));
  for (int64_t devices : options.deviceCounts)
    if (fault && !*fault)
      fault = at(place + llvm::formatv("{0} devices: ", devices).str(), judgePlan(*built->module, requestOn(devices)));
  if (fault && !*fault)
    fault = judgeBuckets(*built->module, llvm::formatv("in {0} micro-batches, ", count), 2);
  remark = llvm::formatv("; in {0} micro-batches, too", count);
  return fault;
}

llvm::Expected<CaseResult> TrainingRunner::run() {
  if (llvm::Error error = load())
    return error;
  bool isRounded = own.options.precision == Precision::Bf16 || own.options.precision == Precision::Fp16;
  llvm::Expected<std::optional<std::string>> fault = std::optional<std::string>();
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
      llvm::formatv("{0} steps on one device and by {1} programs{2}", own.batches.size(), programs, remark);
  if (!refused.empty())
    text += "; too large for " + llvm::join(refused, ", ");
  return CaseResult{Verdict::Passed, text};
}

} // namespace

CaseResult runTrainingCase(const std::string &folder, const ConformanceOptions &options) {
  auto result = TrainingRunner(folder, options).run();
  return result ? *result : CaseResult{Verdict::Failed, takeMessage(result.takeError()).second};
}

} // namespace apc

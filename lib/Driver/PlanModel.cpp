// The main job, stage by stage.
#include "Candidate.h"
#include "ModelPins.h"

#include "apc/Driver/PlanModel.h"
#include "apc/IR/Apc.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"
#include "apc/Transforms/BuildGraph.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Share of a device's memory that plans may use by default; the rest holds the runtime, its streams and fragments.
constexpr double usableMemory = 0.95;

llvm::Expected<OpGraph> graphOf(mlir::ModuleOp module, const std::string &path) {
  std::string message;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    message += (message.empty() ? "" : "; ") + diagnostic.str();
    return mlir::success();
  });
  mlir::FailureOr<OpGraph> graph = buildGraph(module);
  if (mlir::failed(graph))
    return inputError("{0}: {1}", path, message);
  if (graph->ops.empty())
    return inputError("{0}: the model computes nothing", path);
  return std::move(*graph);
}

llvm::Error checkMode(llvm::StringRef mode) {
  if (mode == "infer")
    return llvm::Error::success();
  if (mode == "train")
    return inputError("--mode train: plans for training are to come; --mode infer plans the forward graph");
  return inputError("--mode {0}: accepted are 'infer' and, in time, 'train'", mode);
}

/// What a plan is for, known before anything is searched.
struct Request {
  Search search;
  Cluster cluster;
  std::vector<Cluster> fewer; ///< with the devices that fill their groups, where not all do
  std::string note;           ///< about devices that stay idle
};

llvm::Expected<Request> readRequest(const PlanOptions &options) {
  if (llvm::Error error = checkMode(options.mode))
    return error;
  if (llvm::Error error = checkParallel(options))
    return error;
  llvm::Expected<Search> search = findSearch(searchOf(options));
  if (!search)
    return search.takeError();
  llvm::Expected<Cluster> preset = loadCluster(options.cluster, options.clusterOverrides);
  if (!preset)
    return preset.takeError();
  std::string note;
  llvm::Expected<Cluster> cluster = withDevices(*preset, options.devices, &note);
  if (!cluster)
    return cluster.takeError();
  std::vector<Cluster> fewer;
  for (int64_t count : fillingCounts(*preset, options.devices))
    fewer.push_back(llvm::cantFail(withDevices(*preset, count)));
  return Request{*search, std::move(*cluster), std::move(fewer), std::move(note)};
}

/// The number where it is not the default.
std::optional<double> unlessDefault(double number, double standard) {
  return number == standard ? std::nullopt : std::optional(number);
}

PlanSettings settingsOf(const PlanOptions &options) {
  const SearchOptions standard = PlanOptions().searchOptions;
  PlanSettings settings;
  settings.cluster = options.cluster;
  settings.search = options.search;
  settings.memoryLimitBytes = options.memoryLimitBytes;
  settings.parallel = options.parallel;
  settings.ignoresModelShardings = !options.pinsFromModel;
  settings.timeLimitSeconds = unlessDefault(options.searchOptions.timeLimitSeconds, standard.timeLimitSeconds);
  settings.gap = unlessDefault(options.searchOptions.gapTolerance, standard.gapTolerance);
  for (const Layout &layout : options.layouts)
    settings.layouts.push_back(layout.str());
  for (const Pin &pin : options.pins)
    settings.pins.push_back(pin.str());
  return settings;
}

Plan startPlan(const PlanOptions &options, const Request &request) {
  Plan plan;
  plan.modelPath = options.modelPath;
  plan.dims = options.import.dims;
  plan.conditions = options.import.conditions;
  plan.parameters = options.import.parameters.value_or("");
  plan.cluster = request.cluster.name;
  plan.clusterOverrides = options.clusterOverrides;
  plan.devices = options.devices;
  plan.mode = options.mode;
  plan.settings = settingsOf(options);
  if (!request.note.empty())
    plan.notes.push_back(request.note);
  plan.memoryLimitBytes = options.memoryLimitBytes.value_or(
      static_cast<int64_t>(usableMemory * static_cast<double>(request.cluster.device.memoryBytes)));
  if (plan.memoryLimitBytes > request.cluster.device.memoryBytes)
    plan.notes.push_back(llvm::formatv("the memory limit of {0} is more than the {1} that a device has",
                                       formatBytes(static_cast<double>(plan.memoryLimitBytes)),
                                       formatBytes(static_cast<double>(request.cluster.device.memoryBytes)))
                             .str());
  return plan;
}

llvm::Error chooseAndMeasure(const PlanningTask &task, Plan &plan) {
  llvm::Expected<const Cluster *> cluster = chooseDevices(task, plan);
  if (!cluster)
    return cluster.takeError();
  if (!task.options.sensitivity)
    return llvm::Error::success();
  return decideOn(task, **cluster, plan, [](const PlanningTask &used, Plan &plan) {
    measureSensitivity(used, plan, chooseBest);
    return llvm::Error::success();
  });
}

llvm::Expected<Plan> planFor(const Request &request, mlir::ModuleOp module, const ImportReport *report,
                             const PlanOptions &options, Decide decide) {
  Plan plan = startPlan(options, request);
  recognizeComposites(module);
  llvm::Expected<OpGraph> graph = graphOf(module, options.modelPath);
  if (!graph)
    return graph.takeError();
  std::vector<Pin> given = options.pins;
  bool cutsBatchOnly = options.parallel == "data";
  if (report && options.pinsFromModel && cutsBatchOnly && !report->shardings.empty())
    plan.notes.push_back("the model's own shardings are not used: --parallel data cuts the batch and nothing else");
  if (report && options.pinsFromModel && !cutsBatchOnly) {
    llvm::Expected<std::vector<Pin>> held =
        modelPins(*graph, *report, request.cluster.numDevices(), options.modelPath, plan.notes);
    if (!held)
      return held.takeError();
    llvm::append_range(given, *held);
  }
  llvm::Expected<PinnedOps> pins = PinnedOps::bind(*graph, request.cluster, std::move(given));
  if (!pins)
    return pins.takeError();
  if (llvm::Error error = decide(
          {*graph, request.cluster, plan.memoryLimitBytes, request.search, options, *pins, request.fewer, request.note},
          plan))
    return error;
  return plan;
}

} // namespace

llvm::Expected<Plan> planModule(mlir::ModuleOp module, const PlanOptions &options) {
  Clock::time_point begin = Clock::now();
  llvm::Expected<Request> request = readRequest(options);
  if (!request)
    return request.takeError();
  llvm::Expected<Plan> plan = planFor(*request, module, nullptr, options, chooseAndMeasure);
  if (plan)
    plan->timing.totalSeconds = secondsSince(begin);
  return plan;
}

llvm::Expected<Plan> planModel(const PlanOptions &options) { return planWith(options, chooseAndMeasure); }

llvm::Expected<Plan> planWith(const PlanOptions &options, Decide decide) {
  Clock::time_point begin = Clock::now();
  llvm::Expected<Request> request = readRequest(options);
  if (!request)
    return request.takeError();
  if (options.progress)
    options.progress("importing " + options.modelPath);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model = importOnnx(options.modelPath, options.import, context);
  if (!model)
    return model.takeError();
  double importSeconds = secondsSince(begin);
  llvm::Expected<Plan> plan = planFor(*request, *model->module, &model->report, options, decide);
  if (!plan)
    return plan.takeError();
  plan->modelSha256 = model->report.sha256;
  llvm::append_range(plan->notes, model->report.notes);
  plan->timing.importSeconds = importSeconds;
  plan->timing.totalSeconds = secondsSince(begin);
  return plan;
}

} // namespace apc

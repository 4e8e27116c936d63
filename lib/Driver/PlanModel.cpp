// The main job, stage by stage.
#include "Candidate.h"

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

/// The winner of search and baselines: a plan is never slower than a feasible baseline.
struct Winner {
  Candidate candidate;
  std::string search;
  double objectiveSeconds = 0;
};

std::optional<Winner> pickWinner(MeshChoice &choice, std::vector<EvaluatedBaseline> &baselines,
                                 llvm::StringRef search) {
  std::optional<Winner> winner;
  if (choice.best)
    winner = Winner{std::move(*choice.best), search.str(), choice.objectiveSeconds};
  for (EvaluatedBaseline &entry : baselines) {
    if (!entry.candidate || !entry.baseline.feasible)
      continue;
    double seconds = entry.candidate->price.seconds();
    if (!winner || seconds < winner->candidate.price.seconds())
      winner = Winner{std::move(*entry.candidate), "baseline: " + entry.baseline.name, seconds};
  }
  return winner;
}

void fillBounds(const MeshChoice &choice, const Winner &winner, Plan &plan) {
  // The search's sum counts a redistribution once for each user, so it may exceed the program's price; the bound is on
  // the sum.
  plan.lowerBoundSeconds = std::min(choice.lowerBoundSeconds, plan.stepSeconds);
  plan.status = searchStatusName(choice.status).str();
  double gap = winner.objectiveSeconds > 0 ? 1 - choice.lowerBoundSeconds / winner.objectiveSeconds : 0;
  plan.gap = std::max(0.0, gap);
}

llvm::Error checkMode(llvm::StringRef mode) {
  if (mode == "infer")
    return llvm::Error::success();
  if (mode == "train")
    return inputError("--mode train: plans for training are to come; --mode infer plans the forward graph");
  return inputError("--mode {0}: accepted are 'infer' and, in time, 'train'", mode);
}

void report(const PlanOptions &options, llvm::StringRef text) {
  if (options.progress)
    options.progress(text);
}

/// What a plan is for, known before anything is searched.
struct Request {
  Search search;
  Cluster cluster;
  std::string note; ///< about devices that stay idle
};

llvm::Expected<Request> readRequest(const PlanOptions &options) {
  if (llvm::Error error = checkMode(options.mode))
    return error;
  llvm::Expected<Search> search = findSearch(options.search);
  if (!search)
    return search.takeError();
  llvm::Expected<Cluster> preset = loadCluster(options.cluster, options.clusterOverrides);
  if (!preset)
    return preset.takeError();
  std::string note;
  llvm::Expected<Cluster> cluster = withDevices(*preset, options.devices, &note);
  if (!cluster)
    return cluster.takeError();
  return Request{*search, std::move(*cluster), std::move(note)};
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
  plan.settings = {options.cluster, options.search, options.memoryLimitBytes, {}};
  for (const Layout &layout : options.layouts)
    plan.settings.layouts.push_back(layout.str());
  if (!request.note.empty())
    plan.notes.push_back(request.note);
  plan.memoryLimitBytes = options.memoryLimitBytes.value_or(
      static_cast<int64_t>(usableMemory * static_cast<double>(request.cluster.device.memoryBytes)));
  return plan;
}

/// Searches, weighs against the baselines and describes what wins.
llvm::Error chooseBest(const PlanningTask &task, Plan &plan) {
  report(task.options, "searching");
  llvm::Expected<MeshChoice> choice = chooseMesh(task);
  if (!choice)
    return choice.takeError();
  plan.timing.problemSeconds = choice->problemSeconds;
  plan.timing.searchSeconds = choice->searchSeconds;
  report(task.options, "pricing the baselines");
  llvm::Expected<std::vector<EvaluatedBaseline>> baselines = evaluateBaselines(task);
  if (!baselines)
    return baselines.takeError();
  for (const EvaluatedBaseline &entry : *baselines)
    plan.baselines.push_back(entry.baseline);
  std::optional<Winner> winner = pickWinner(*choice, *baselines, task.options.search);
  if (!winner)
    return nothingFits(task, *choice, *baselines);
  plan.search = winner->search;
  llvm::Expected<Candidate> merged = mergeAxes(task, std::move(winner->candidate));
  if (!merged)
    return merged.takeError();
  describeCandidate(task, *merged, plan);
  fillBounds(*choice, *winner, plan);
  return llvm::Error::success();
}

llvm::Error chooseAndMeasure(const PlanningTask &task, Plan &plan) {
  if (llvm::Error error = chooseBest(task, plan))
    return error;
  if (task.options.sensitivity)
    measureSensitivity(task, plan, chooseBest);
  return llvm::Error::success();
}

llvm::Expected<Plan> planFor(const Request &request, mlir::ModuleOp module, const PlanOptions &options, Decide decide) {
  Plan plan = startPlan(options, request);
  recognizeComposites(module);
  llvm::Expected<OpGraph> graph = graphOf(module, options.modelPath);
  if (!graph)
    return graph.takeError();
  if (llvm::Error error = decide({*graph, request.cluster, plan.memoryLimitBytes, request.search, options}, plan))
    return error;
  return plan;
}

} // namespace

llvm::Expected<Plan> planModule(mlir::ModuleOp module, const PlanOptions &options) {
  Clock::time_point begin = Clock::now();
  llvm::Expected<Request> request = readRequest(options);
  if (!request)
    return request.takeError();
  llvm::Expected<Plan> plan = planFor(*request, module, options, chooseAndMeasure);
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
  report(options, "importing " + options.modelPath);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model = importOnnx(options.modelPath, options.import, context);
  if (!model)
    return model.takeError();
  double importSeconds = secondsSince(begin);
  llvm::Expected<Plan> plan = planFor(*request, *model->module, options, decide);
  if (!plan)
    return plan.takeError();
  plan->modelSha256 = model->report.sha256;
  llvm::append_range(plan->notes, model->report.notes);
  plan->timing.importSeconds = importSeconds;
  plan->timing.totalSeconds = secondsSince(begin);
  return plan;
}

} // namespace apc

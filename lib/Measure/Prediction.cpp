// Rows with one graph are costed on it together.
#include "apc/Measure/Prediction.h"

#include "apc/Driver/GraphOfStep.h"
#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"
#include "apc/Plan/Settings.h"
#include "apc/Planning/LayoutFigures.h"
#include "apc/Support/Parallel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <map>
#include <mutex>
#include <tuple>

namespace apc {

namespace {

const char *const modelName = "the row's model";

/// Rows whose steps have one graph.
auto graphKey(const Measurement &row) {
  return std::make_tuple(row.model, row.layout.microBatch.value_or(0) * row.layout.data, row.globalBatch,
                         row.layout.recompute.value_or(RecomputeChoice::None).str(), row.precision, row.overlaps,
                         row.runtime);
}

llvm::Expected<OpGraph> buildGraphOf(const Measurement &row, const PlanRequest &request) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model =
      importOnnxBytes(writeTransformer(row.model), modelName, importOptionsOf(request), context);
  if (!model)
    return model.takeError();
  if (llvm::Error error = recognizeAndBuildStep(model->module, request))
    return std::move(error);
  return graphOfStep(*model->module, modelName, request);
}

llvm::Expected<Prediction> costOn(const OpGraph &graph, const Measurement &row, const PlanRequest &request) {
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  llvm::Expected<LayoutFigures> figures = figuresOfLayout(graph, request, *target, row.layout, PlanningControl());
  if (!figures)
    return figures.takeError();
  Prediction prediction;
  prediction.seconds = figures->stepSeconds;
  prediction.computeSeconds = figures->computeSeconds;
  prediction.communicationSeconds = figures->communicationSeconds;
  prediction.exposedSeconds = figures->exposedCommunicationSeconds;
  prediction.bubbleSeconds = figures->bubbleSeconds;
  prediction.memoryBytes = figures->memory.total();
  prediction.lastStageBytes = figures->lastWorkerBytes;
  prediction.memoryLimitBytes = figures->memoryLimitBytes;
  return prediction;
}

Prediction failed(llvm::Error error) {
  Prediction prediction;
  prediction.failure = takeMessage(std::move(error)).second;
  return prediction;
}

/// Rows of one graph that have one cost.
auto costKey(const Measurement &row) {
  return std::make_tuple(row.layout.str(), row.devices, row.cluster, row.overrides);
}

/// The rows \p indices, which have one graph.
void predictRows(llvm::ArrayRef<Measurement> rows, llvm::ArrayRef<size_t> indices, std::vector<Prediction> &into) {
  const Measurement &first = rows[indices.front()];
  llvm::Expected<PlanRequest> shared = requestOfLayout(requestOf(first, modelName), first.layout);
  llvm::Expected<OpGraph> graph = shared ? buildGraphOf(first, *shared) : shared.takeError();
  std::string failure = graph ? "" : takeMessage(graph.takeError()).second;
  std::map<decltype(costKey(first)), size_t> known;
  for (size_t index : indices) {
    auto [same, isNew] = known.try_emplace(costKey(rows[index]), index);
    if (!failure.empty()) {
      into[index].failure = failure;
    } else if (!isNew) {
      into[index] = into[same->second];
    } else {
      llvm::Expected<PlanRequest> request = requestOfLayout(requestOf(rows[index], modelName), rows[index].layout);
      llvm::Expected<Prediction> cost = request ? costOn(*graph, rows[index], *request) : request.takeError();
      into[index] = cost ? std::move(*cost) : failed(cost.takeError());
    }
  }
}

} // namespace

std::string commandOf(const Measurement &row, llvm::StringRef path) {
  PlanRequest request = requestOf(row, path);
  std::string text = "apc evaluate '" + path.str() + "' --layout " + row.layout.str();
  for (const Setting &setting : allSettings()) {
    if (setting.group == SettingGroup::Search)
      continue;
    for (const std::string &value : saidTexts(setting, request)) {
      text += " --" + setting.name.str();
      if (setting.kind != SettingKind::Switch)
        text += " " + value;
    }
  }
  return text;
}

std::vector<Prediction> predictAll(llvm::ArrayRef<Measurement> rows, unsigned numThreads,
                                   llvm::function_ref<void(size_t)> report) {
  std::vector<Prediction> predictions(rows.size());
  std::map<decltype(graphKey(rows.front())), std::vector<size_t>> byGraph;
  for (size_t index = 0; index < rows.size(); ++index) {
    if (rows[index].leftOut.empty())
      byGraph[graphKey(rows[index])].push_back(index);
    else
      predictions[index].failure = rows[index].leftOut;
  }
  std::vector<std::vector<size_t>> jobs;
  for (auto &[key, indices] : byGraph)
    jobs.push_back(std::move(indices));
  size_t done = 0;
  std::mutex reporting;
  forEach(jobs.size(), numThreads, [&](size_t job) {
    predictRows(rows, jobs[job], predictions);
    std::lock_guard<std::mutex> lock(reporting);
    done += jobs[job].size();
    if (report)
      report(done);
  });
  return predictions;
}

} // namespace apc

// Rows with one graph are costed on it together.
#include "apc/Measure/Prediction.h"

#include "apc/Cost/TrainerStep.h"
#include "apc/Driver/GraphOfStep.h"
#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/Graph/Batch.h"
#include "apc/IR/Apc.h"
#include "apc/Plan/Settings.h"
#include "apc/Planning/LayoutFigures.h"
#include "apc/Support/Parallel.h"
#include "apc/Support/Saturating.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <map>
#include <mutex>
#include <tuple>

namespace apc {

namespace {

const char *const modelName = "the row's model";

int64_t microBatchOf(const Measurement &row) { return row.layout.microBatch.value_or(0) * row.layout.data; }

int64_t microBatchesOf(const Measurement &row) {
  return microBatchOf(row) > 0 ? std::max<int64_t>(1, row.globalBatch / microBatchOf(row)) : 1;
}

/// The graph is one for all micro-batches but for its sizes (`atBatch`). A batch of 1 has other ops, the seats of
/// experts are rounded up, recomputation keeps the rows of an embedding that are few beside its table, statistics of a
/// norm are ops of their own where rows are few and long, and the bits of all scores of long sequences are more than
/// can be counted.
bool hasGraphOfAnyBatch(const Measurement &row) {
  const TransformerShape &model = row.model;
  constexpr int64_t fewRows = 8;
  int64_t batch = microBatchOf(row);
  int64_t largest = std::max({model.hidden, 3 * model.heads * model.headSize, model.inner, model.vocabulary});
  const auto positions = static_cast<double>(std::max(model.sequence, model.decoderSequence));
  const double bitsOfScores = 32 * double(anyBatch) * static_cast<double>(model.heads) * positions * positions;
  constexpr double mostBits = double(uint64_t(1) << 62);
  const int64_t tokens = batch * model.sequence;
  return batch > 1 && model.experts == 0 && largest < anyBatch && tokens > model.vocabulary / fewRows &&
         tokens > model.hidden && bitsOfScores < mostBits;
}

/// Rows whose steps have one graph but for the size and number of micro-batches, the runtime, and what runs beside
/// what.
auto graphKey(const Measurement &row) {
  int64_t batch = microBatchOf(row);
  return std::make_tuple(
      row.model, hasGraphOfAnyBatch(row) ? anyBatch : batch, batch > 0 ? microBatchesOf(row) > 1 : row.globalBatch,
      row.layout.recompute.value_or(RecomputeChoice::None).str(), row.precision, row.widensGradients);
}

/// Rows with one `graphKey` that are costed on one graph.
auto runKey(const Measurement &row) {
  return std::make_tuple(microBatchOf(row), microBatchesOf(row), row.overlaps, row.runtime);
}

/// Rows of one graph that have one cost.
auto costKey(const Measurement &row) {
  return std::make_tuple(row.layout.str(), row.devices, row.cluster, row.overrides, row.besideBytes);
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
  return graphOfModel(*model->module, modelName);
}

/// Bytes of gradients between two steps for each parameter on a device, where the runtime keeps them; ZeRO 2 cuts them,
/// and ZeRO 3 the parameters as well. Copies of 4 bytes that an update made of fp16 gradients, of those that a rank
/// updates, stay beside these until the next step clears them (NVIDIA/Megatron-LM megatron/core/optimizer/optimizer.py,
/// _copy_model_grads_to_main_grads).
double gradientBytes(const Measurement &row) {
  const int zero = row.layout.zero;
  const auto ways = static_cast<double>(row.layout.data * row.layout.context);
  const double held = zero == 2 ? 1 / ways : 1, updated = zero == 1 || zero == 2 ? 1 / ways : 1;
  if (row.precision == PrecisionChoice::Fp16)
    return 2 * held + 4 * updated;
  return (row.precision == PrecisionChoice::Fp32 || row.widensGradients ? 4 : 2) * held;
}

/// Parameters, states, and gradients where the runtime keeps them; everything else has been given back when a step
/// ends.
int64_t bytesBetweenSteps(const MemoryTable &memory, const Measurement &row, const Runtime &runtime) {
  const double ofParameter = row.precision == PrecisionChoice::Fp32 ? 4 : 2;
  const auto parameters = static_cast<double>(memory[MemoryCategory::Parameters]);
  const double perParameter = runtime.keepsGradients ? gradientBytes(row) : 0;
  const auto gradients = static_cast<int64_t>(parameters / ofParameter * perParameter);
  return addSaturating(addSaturating(memory[MemoryCategory::Parameters], gradients),
                       addSaturating(memory[MemoryCategory::Optimizer], row.besideBytes));
}

llvm::Expected<Prediction> costOn(const OpGraph &graph, const Measurement &row, const PlanRequest &request,
                                  const std::shared_ptr<KnownOrders> &orders) {
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  PlanningControl control;
  control.orders = orders;
  llvm::Expected<LayoutFigures> figures = figuresOfLayout(graph, request, *target, row.layout, control);
  if (!figures)
    return figures.takeError();
  Prediction prediction;
  prediction.seconds = figures->stepSeconds;
  prediction.computeSeconds = figures->computeSeconds;
  prediction.communicationSeconds = figures->communicationSeconds;
  prediction.exposedSeconds = figures->exposedCommunicationSeconds;
  prediction.hostSeconds = figures->hostSeconds;
  prediction.bubbleSeconds = figures->bubbleSeconds;
  prediction.memoryBytes = addSaturating(figures->memory.total(), row.besideBytes);
  prediction.lastStageBytes = addSaturating(figures->lastWorker.total(), row.besideBytes);
  prediction.boundaryBytes = bytesBetweenSteps(figures->lastWorkerBetweenSteps, row, target->cluster.pool.runtime);
  prediction.memoryLimitBytes = figures->memoryLimitBytes;
  return prediction;
}

Prediction failed(llvm::Error error) {
  Prediction prediction;
  prediction.failure = takeMessage(std::move(error)).second;
  return prediction;
}

llvm::Expected<PlanRequest> requestFor(const Measurement &row) {
  return requestOfLayout(requestOf(row, modelName), row.layout);
}

/// The graph as the trainer of the row ran it, which holds sums of gradients and kept activations in its own types.
llvm::Expected<OpGraph> graphOfTrainer(OpGraph shared, const Measurement &row) {
  OpGraph graph = withMicroBatches(std::move(shared), microBatchesOf(row));
  if (!row.runtime.empty()) {
    llvm::Expected<Runtime> runtime = loadRuntime(row.runtime);
    if (!runtime)
      return runtime.takeError();
    constexpr int64_t bytesOfWeight = 2;
    if (!row.widensGradients && runtime->gradientSumBytes == 0)
      runtime->gradientSumBytes = bytesOfWeight;
    narrowSums(graph, *runtime);
    if (row.layout.recompute == RecomputeChoice::Full)
      runProductsAgain(graph, *runtime);
  }
  graph.keepsNarrowCopies = row.precision == PrecisionChoice::Fp8;
  return graphAsRun(std::move(graph), requestOf(row, modelName));
}

/// The rows of one `graphKey`.
class RowsOfGraph {
public:
  RowsOfGraph(llvm::ArrayRef<Measurement> rows, std::vector<size_t> indices, std::shared_ptr<KnownOrders> orders,
              std::vector<Prediction> &into)
      : rows(rows), indices(std::move(indices)), orders(std::move(orders)), into(into) {}

  void predict() {
    auto isBefore = [&](size_t a, size_t b) { return runKey(rows[a]) < runKey(rows[b]); };
    llvm::stable_sort(indices, isBefore);
    const Measurement &first = rows[indices.front()];
    isForAnyBatch = microBatchOf(first) != microBatchOf(rows[indices.back()]);
    llvm::Expected<OpGraph> graph = build(first);
    if (!graph)
      return failAll(indices, takeMessage(graph.takeError()).second);
    llvm::ArrayRef<size_t> rest = indices;
    while (!rest.empty()) {
      auto alike = rest.take_while([&](size_t index) { return !isBefore(rest.front(), index); });
      predictRun(*graph, alike);
      rest = rest.drop_front(alike.size());
    }
  }

private:
  llvm::Expected<OpGraph> build(const Measurement &row) const {
    llvm::Expected<PlanRequest> request = requestFor(row);
    if (!request)
      return request.takeError();
    if (isForAnyBatch) {
      request->microBatch = anyBatch;
      request->globalBatch = microBatchesOf(row) > 1 ? 2 * anyBatch : anyBatch;
    }
    return buildGraphOf(row, *request);
  }

  void failAll(llvm::ArrayRef<size_t> some, const std::string &failure) {
    for (size_t index : some)
      into[index].failure = failure;
  }

  /// The rows \p some, which have one `runKey`, too.
  void predictRun(const OpGraph &shared, llvm::ArrayRef<size_t> some) {
    const Measurement &first = rows[some.front()];
    llvm::Expected<OpGraph> graph =
        graphOfTrainer(isForAnyBatch ? atBatch(shared, microBatchOf(first)) : shared, first);
    if (!graph)
      return failAll(some, takeMessage(graph.takeError()).second);
    std::map<decltype(costKey(first)), size_t> known;
    for (size_t index : some) {
      auto [same, isNew] = known.try_emplace(costKey(rows[index]), index);
      into[index] = isNew ? predictRow(*graph, rows[index]) : into[same->second];
    }
  }

  Prediction predictRow(const OpGraph &graph, const Measurement &row) const {
    llvm::Expected<PlanRequest> request = requestFor(row);
    llvm::Expected<Prediction> cost = request ? costOn(graph, row, *request, orders) : request.takeError();
    return cost ? std::move(*cost) : failed(cost.takeError());
  }

  llvm::ArrayRef<Measurement> rows;
  std::vector<size_t> indices;
  std::shared_ptr<KnownOrders> orders;
  std::vector<Prediction> &into;
  bool isForAnyBatch = false; ///< the graph was built at `anyBatch`, for rows of several
};

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
  // The longest come first, so that no thread is left alone with one at the end.
  constexpr int64_t graphInRows = 2; // a graph takes about as long as the cost of so many rows
  auto work = [&](const std::vector<size_t> &job) {
    return (graphInRows + static_cast<int64_t>(job.size())) * rows[job.front()].model.layers;
  };
  llvm::stable_sort(jobs, [&](const auto &a, const auto &b) { return work(a) > work(b); });
  std::shared_ptr<KnownOrders> orders = makeKnownOrders();
  size_t done = 0;
  std::mutex reporting;
  forEach(jobs.size(), numThreads, [&](size_t job) {
    RowsOfGraph(rows, jobs[job], orders, predictions).predict();
    std::lock_guard<std::mutex> lock(reporting);
    done += jobs[job].size();
    if (report)
      report(done);
  });
  return predictions;
}

} // namespace apc

// Fastest strategies of all ops, and of all layers, spread over the workers.
#include "PipelineBound.h"

#include "../../References.h"
#include "../StageAnswers.h"
#include "../WorkerPools.h"
#include "LeastShare.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Graph/LayerCuts.h"
#include "apc/Sharding/Strategy.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace apc {

namespace {

/// Everything that the seconds of an op depend on.
using OpKind = std::tuple<RuleId, NumberFormat, bool, bool, int64_t>;

/// Of all repeats.
double fastest(const OpGraph &graph, OpId op, llvm::ArrayRef<CostModel> models) {
  std::optional<double> least;
  for (const CostModel &model : models)
    for (const Strategy &strategy : enumerateStrategies(graph.ruleOf(op), model.getMesh())) {
      double seconds = costOfOp(graph, op, strategy, model).seconds();
      least = std::min(least.value_or(seconds), seconds);
    }
  return least.value_or(0);
}

} // namespace

/// No op of a stage takes less than under its fastest strategy on the devices of a worker.
static llvm::Expected<PipelineBound> leastSecondsOfOps(const PlanningTask &whole, int64_t workers) {
  std::optional<Pool> worker = poolOfWorker(whole.pool, workers);
  assert(worker && "the number of workers has been checked");
  std::vector<CostModel> models;
  for (const Mesh &mesh : logicalMeshes(Mesh::fromLevels(worker->levelSizes()), mostAxes(whole.request)))
    models.emplace_back(*worker, mesh);
  llvm::Expected<CutStep> uncut = cutStep(whole.graph, {}, /*splitsBackward=*/true);
  if (!uncut)
    return uncut.takeError();
  const OpGraph &graph = uncut->stages.front().graph;
  std::map<OpKind, double> known;
  double all = 0, path = 0;
  for (auto [index, part] : llvm::enumerate(uncut->stages.front().parts)) {
    const GraphOp &op = graph.ops[index];
    if (op.inPass) // free where rows are whole
      continue;
    auto [entry, isNew] = known.try_emplace({op.rule, op.format, op.atLoad, op.accumulates, op.repeats}, 0.0);
    if (isNew)
      entry->second = fastest(graph, OpId(index), models);
    all += entry->second;
    bool isOnPath = part == StagePart::Forward || part == StagePart::InputGradients;
    path += isOnPath ? entry->second / static_cast<double>(op.repeats) : 0;
  }
  return PipelineBound{all / static_cast<double>(workers), path};
}

double leastSharedSeconds(const PlanningTask &whole) {
  const CostModel single(whole.pool, Mesh());
  const std::vector<Strategy> strategies = replicated(whole.graph);
  double seconds = 0;
  for (size_t op = 0; op < whole.graph.ops.size(); ++op)
    seconds += costOfOp(whole.graph, OpId(op), strategies[op], single).seconds();
  return seconds / static_cast<double>(whole.pool.numDevices());
}

/// May readers of one parameter stand in one stage, when the layers of `split` make up `workers` stages or more?
static bool mayShareInStage(const OpGraph &graph, const StageSplit &split, int64_t workers) {
  auto mayMeet = [&](unsigned first, unsigned last) {
    return static_cast<int64_t>(last - first) + workers <= static_cast<int64_t>(split.numStages);
  };
  std::vector<bool> isWeight = graph.weights();
  bool doesHold = llvm::any_of(split.shared, [&](const SharedSource &shared) {
    return isWeight[shared.value.index()] && mayMeet(shared.stages.front(), shared.stages.back());
  });
  return doesHold || llvm::any_of(split.transfers, [&](const StageTransfer &transfer) {
           bool isParameter = transfer.time == TransferTime::Step;
           return isParameter &&
                  mayMeet(std::min(transfer.from, transfer.to.front()), std::max(transfer.from, transfer.to.back()));
         });
}

llvm::Expected<double> leastSecondsOfLayers(const PlanningTask &whole, int64_t workers, double seconds) {
  if (whole.graph.overlaps)
    return 0;
  std::optional<Pool> worker = poolOfWorker(whole.pool, workers);
  assert(worker && "the number of workers has been checked");
  std::vector<size_t> places;
  for (const CutPosition &place : layerCuts(whole.graph))
    places.push_back(place.position);
  llvm::Expected<CutStep> layers = cutStep(whole.graph, places, /*splitsBackward=*/false);
  if (!layers)
    return layers.takeError();
  if (mayShareInStage(whole.graph, layers->split, workers))
    return 0;
  llvm::Expected<std::vector<double>> all =
      StageAnswers(whole, *layers, *worker, std::make_shared<StagePatterns>()).leastSeconds(seconds);
  if (!all)
    return all.takeError();
  return leastLargestShare(*all, static_cast<size_t>(workers));
}

llvm::Expected<PipelineBound> leastPipelineSeconds(const PlanningTask &whole, int64_t workers, double seconds) {
  llvm::Expected<PipelineBound> bound = leastSecondsOfOps(whole, workers);
  if (!bound || seconds <= 0)
    return bound;
  whole.report("bounding pipelines by their layers");
  llvm::Expected<double> ofLayers = leastSecondsOfLayers(whole, workers, seconds);
  if (!ofLayers)
    return ofLayers.takeError();
  return PipelineBound{std::max(bound->shareSeconds, *ofLayers), bound->pathSeconds};
}

} // namespace apc

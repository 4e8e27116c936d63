// Ops of layers first; then searches of their steps, and of both passes alone.
#include "FastestLayers.h"

#include "../StageAnswers.h"
#include "../WorkerPools.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Sharding/Strategy.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

FastestOps::FastestOps(const Pool &pool, unsigned numAxes, const OpGraph &graph) : graph(graph) {
  for (const Mesh &mesh : logicalMeshes(Mesh::fromLevels(pool.levelSizes()), numAxes))
    models.emplace_back(pool, mesh);
}

double FastestOps::secondsOf(OpId id) {
  const GraphOp &op = graph.op(id);
  if (op.inPass)
    return 0;
  auto [entry, isNew] = known.try_emplace({op.rule, op.format, op.atLoad, op.accumulates, op.repeats}, 0.0);
  if (!isNew)
    return entry->second;
  std::optional<double> least;
  for (const CostModel &model : models)
    for (const Strategy &strategy : enumerateStrategies(graph.ruleOf(id), model.getMesh())) {
      double seconds = costOfOp(graph, id, strategy, model).seconds();
      least = std::min(least.value_or(seconds), seconds);
    }
  return entry->second = least.value_or(0);
}

/// By value: it is made of parameters and constants alone, and a parameter that is trained is among them.
static std::vector<bool> trainedWeights(const OpGraph &graph) {
  std::vector<bool> isWeight = graph.weights(), isTrained(graph.values.size());
  for (const GraphValue &value : graph.values)
    if (value.replaces && graph.value(*value.replaces).role == ValueRole::Parameter)
      isTrained[value.replaces->index()] = true;
  for (const GraphOp &op : graph.ops)
    if (llvm::any_of(op.operands, [&](std::optional<ValueId> own) { return own && isTrained[own->index()]; }))
      for (std::optional<ValueId> result : op.results)
        if (result && isWeight[result->index()])
          isTrained[result->index()] = true;
  return isTrained;
}

/// By layer: does it share a trained parameter with others of which two may stand in the same stage, when all layers
/// make up `workers` stages or more? Gradients are then summed otherwise.
static std::vector<bool> mayShareInStage(const OpGraph &graph, const StageSplit &split, int64_t workers) {
  std::vector<bool> shares(split.numStages);
  auto meet = [&](llvm::ArrayRef<unsigned> layers) { // ascending
    bool mayMeet = false;
    for (auto [a, b] : llvm::zip(layers, layers.drop_front()))
      mayMeet |= static_cast<int64_t>(b - a) + workers <= split.numStages;
    for (unsigned layer : layers)
      shares[layer] = shares[layer] || mayMeet;
  };
  const std::vector<bool> isTrained = trainedWeights(graph);
  for (const SharedSource &shared : split.shared)
    if (isTrained[shared.value.index()])
      meet(shared.stages);
  for (const StageTransfer &transfer : split.transfers)
    if (isTrained[transfer.value.index()]) {
      std::vector<unsigned> layers(1, transfer.from);
      llvm::append_range(layers, transfer.to);
      llvm::sort(layers);
      meet(layers);
    }
  return shares;
}

/// The fastest ops of a layer.
static LayerMinima minimaOfOps(const StageGraph &layer, const Pool &worker, unsigned numAxes) {
  LayerMinima minima;
  FastestOps ops(worker, numAxes, layer.graph);
  for (auto [index, part] : llvm::enumerate(layer.parts)) {
    const double seconds = ops.secondsOf(OpId(index));
    minima.step += seconds;
    minima.microBatch += part == StagePart::Update ? 0 : seconds;
    minima.forward += part == StagePart::Forward ? seconds : 0;
  }
  const auto times = static_cast<double>(layer.graph.wholeMicroBatches());
  minima.microBatch /= times;
  minima.forward /= times;
  return minima;
}

/// By layer: does it read what the layer in front of it makes of a micro-batch?
static std::vector<bool> followersOf(const StageSplit &split) {
  std::vector<bool> follows(split.numStages);
  for (const StageTransfer &transfer : split.transfers)
    if (transfer.time == TransferTime::Forward && llvm::is_contained(transfer.to, transfer.from + 1))
      follows[transfer.from + 1] = true;
  return follows;
}

/// Raises minima by what searches find, the whole steps first.
static llvm::Error searchLayers(const StageAnswers &layers, int64_t microBatches, double seconds,
                                std::vector<LayerMinima> &minima) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const auto times = static_cast<double>(microBatches);
  for (auto [part, last] : {std::pair(&LayerMinima::step, StagePart::Update),
                            std::pair(&LayerMinima::microBatch, StagePart::WeightGradients)}) {
    std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
    llvm::Expected<std::vector<double>> least = layers.leastSeconds(left.count(), last);
    if (!least)
      return least.takeError();
    for (auto [own, found] : llvm::zip_equal(minima, *least))
      own.*part = std::max(own.*part, part == &LayerMinima::step ? found : found / times);
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<LayerMinima>> fastestLayers(const PlanningTask &whole, int64_t workers, double seconds) {
  std::optional<Pool> worker = poolOfWorker(whole.pool, workers);
  assert(worker && "the number of workers has been checked");
  std::vector<size_t> places;
  for (const CutPosition &place : layerCuts(whole.graph))
    places.push_back(place.position);
  llvm::Expected<CutStep> layers = cutStep(whole.graph, places, /*splitsBackward=*/false);
  if (!layers)
    return layers.takeError();
  const int64_t microBatches = whole.graph.wholeMicroBatches();
  const StageAnswers answers(whole, *layers, *worker, std::make_shared<StagePatterns>());
  std::vector<LayerMinima> minima;
  for (unsigned layer = 0; layer < layers->stages.size(); ++layer) {
    const unsigned kind = answers.kindOf(layer);
    minima.push_back(kind < layer ? minima[kind]
                                  : minimaOfOps(layers->stages[layer], *worker, mostAxes(whole.request)));
  }
  if (!whole.graph.overlaps && seconds > 0)
    if (llvm::Error error = searchLayers(answers, microBatches, seconds, minima))
      return std::move(error);
  for (auto [own, follows, shares] :
       llvm::zip_equal(minima, followersOf(layers->split), mayShareInStage(layers->graph, layers->split, workers))) {
    if (shares)
      own.step = own.microBatch = 0;
    own.microBatch = std::max(own.microBatch, own.forward);
    own.step = std::max(own.step, static_cast<double>(microBatches) * own.microBatch);
    own.followsBefore = follows;
  }
  return minima;
}

} // namespace apc

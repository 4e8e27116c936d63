// Ops of layers first; then searches of their steps, and of both passes alone.
#include "FastestLayers.h"

#include "../StageAnswers.h"
#include "../Workers/WorkerPools.h"
#include "LayerPrograms.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Sharding/Strategy.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

FastestOps::FastestOps(const Pool &pool, unsigned numAxes) {
  for (const Mesh &mesh : logicalMeshes(Mesh::fromLevels(pool.levelSizes()), numAxes))
    models.emplace_back(pool, mesh);
}

double FastestOps::leastOf(const OpGraph &graph, OpId op) const {
  std::optional<double> least;
  for (const CostModel &model : models)
    for (const Strategy &strategy : enumerateStrategies(graph.ruleOf(op), model.getMesh())) {
      double seconds = costOfOp(graph, op, strategy, model).seconds();
      least = std::min(least.value_or(seconds), seconds);
    }
  return least.value_or(0);
}

std::vector<double> FastestOps::secondsOf(const OpGraph &graph) {
  std::vector<size_t> numbers; // by rule of the graph
  for (const FactorRule &rule : graph.rules) {
    numbers.push_back(static_cast<size_t>(llvm::find(rules, rule) - rules.begin()));
    if (numbers.back() == rules.size())
      rules.push_back(rule);
  }
  std::vector<double> seconds;
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    OpKind kind{numbers[op.rule.index()], op.format, op.atLoad, op.repeats, op.kernel, {}};
    for (std::optional<ValueId> operand : op.operands)
      std::get<std::vector<bool>>(kind).push_back(operand && graph.op(graph.value(*operand).producer).inPass);
    auto entry = op.inPass ? known.end() : known.find(kind);
    if (!op.inPass && entry == known.end())
      entry = known.emplace(std::move(kind), leastOf(graph, OpId(index))).first;
    seconds.push_back(op.inPass ? 0 : entry->second);
  }
  return seconds;
}

/// By value: it is made of parameters and constants alone, and a parameter that is trained is among them.
static std::vector<bool> trainedWeights(const OpGraph &graph) {
  const std::vector<bool> isWeight = graph.weights();
  std::vector<bool> isTrained = graph.replaced();
  for (auto [index, value] : llvm::enumerate(graph.values))
    isTrained[index] = isTrained[index] && value.role == ValueRole::Parameter;
  for (const GraphOp &op : graph.ops)
    if (llvm::any_of(op.operands, [&](std::optional<ValueId> own) { return own && isTrained[own->index()]; }))
      for (std::optional<ValueId> result : op.results)
        if (result && isWeight[result->index()])
          isTrained[result->index()] = true;
  return isTrained;
}

std::vector<bool> mayShareInStage(const OpGraph &graph, const StageSplit &split, int64_t workers) {
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

/// The fastest ops of a layer of \p step. Those that each stage runs for all its layers are left out.
static LayerMinima minimaOfOps(const CutStep &step, unsigned number, FastestOps &ops) {
  const StageGraph &layer = step.stages[number];
  LayerMinima minima;
  for (auto [index, seconds] : llvm::enumerate(ops.secondsOf(layer.graph))) {
    if (step.runsInEach(number, index))
      continue;
    const StagePart part = layer.parts[index];
    const std::optional<OpId> op = layer.ops[index];
    minima.step += seconds;
    minima.microBatch += part == StagePart::Update ? 0 : seconds;
    minima.forward += part == StagePart::Forward ? seconds : 0;
    minima.back += op && step.split.parts[op->index()] == StagePart::InputGradients ? seconds : 0;
  }
  const auto times = static_cast<double>(layer.graph.wholeMicroBatches());
  for (double LayerMinima::*part : {&LayerMinima::microBatch, &LayerMinima::forward, &LayerMinima::back})
    minima.*part /= times;
  return minima;
}

/// By layer: does a value of a micro-batch come from the layer in front of it, or in the backward pass go there?
static std::vector<bool> linksBefore(const StageSplit &split, TransferTime time) {
  std::vector<bool> isLinked(split.numStages);
  for (const StageTransfer &transfer : split.transfers)
    for (unsigned to : transfer.to)
      if (transfer.time == time && (time == TransferTime::Forward ? to == transfer.from + 1 : to + 1 == transfer.from))
        isLinked[std::max(to, transfer.from)] = true;
  return isLinked;
}

/// Layers of a step, each kind of which is searched once.
class LayerSearches {
public:
  LayerSearches(const PlanningTask &whole, const StageAnswers &answers, const CutStep &step, double seconds)
      : whole(whole), answers(answers), step(step), end(whole.control.clock->seconds() + seconds),
        order(kindsInOrder()) {}

  /// Raises minima by what searches find, the whole steps first.
  llvm::Error raise(const WorkerBytes &worker, PassSearches passes, std::vector<LayerMinima> &minima) {
    const auto times = static_cast<double>(whole.graph.wholeMicroBatches());
    for (unsigned kind : order)
      if (llvm::Error error = search(kind, StagePart::Update, kind == order.front() ? &worker : nullptr,
                                     [&](double least) { raise(kind, &LayerMinima::step, least, minima); }))
        return error;
    if (passes == PassSearches::LeftOut)
      return llvm::Error::success();
    for (unsigned kind : order)
      if (llvm::Error error = search(kind, StagePart::WeightGradients, /*worker=*/nullptr, [&](double least) {
            raise(kind, &LayerMinima::microBatch, least / times, minima);
          }))
        return error;
    return llvm::Error::success();
  }

  /// Adds the costs of a byte that the search of whole steps found, and what layers of the most frequent kind pay.
  void addByteCosts(LayerBounds &bounds) const {
    for (const PaidAt &withBytes : byteCosts) {
      bounds.byteCosts.push_back(withBytes.secondsPerByte);
      for (auto [layer, own] : llvm::enumerate(bounds.layers))
        own.withBytes.push_back(isOfKind(layer, order.front()) ? std::max(withBytes.seconds, own.step) : own.step);
    }
  }
  /// The kind whose layers pay.
  unsigned usual() const { return order.front(); }

private:
  double secondsLeft() const { return end - whole.control.clock->seconds(); }

  /// The kinds to search, the most frequent first: they count most. That kind is always among them.
  std::vector<unsigned> kindsInOrder() const {
    std::vector<unsigned> counts(step.stages.size()), kinds;
    for (unsigned layer = 0; layer < counts.size(); ++layer)
      if (++counts[answers.kindOf(layer)] == 1)
        kinds.push_back(layer);
    llvm::stable_sort(kinds, [&](unsigned a, unsigned b) { return counts[a] > counts[b]; });
    auto sizeOf = [&](unsigned kind) { return step.stages[kind].graph.ops.size(); };
    const size_t usual = sizeOf(kinds.front());
    constexpr size_t many = 50;
    auto takesTooLong = [&](unsigned kind) { // as long as the search of the usual kind, for few layers
      return counts[kind] * many < counts.size() && 2 * sizeOf(kind) > usual;
    };
    kinds.erase(std::remove_if(kinds.begin() + 1, kinds.end(), takesTooLong), kinds.end());
    return kinds;
  }

  bool isOfKind(size_t layer, unsigned kind) const { return answers.kindOf(static_cast<unsigned>(layer)) == kind; }

  void raise(unsigned kind, double LayerMinima::*part, double least, std::vector<LayerMinima> &minima) const {
    for (auto [layer, own] : llvm::enumerate(minima))
      if (isOfKind(layer, kind))
        own.*part = std::max(own.*part, least);
  }

  /// As long as there is time. Costs of a byte are taken down for a \p worker with such layers, where one is given.
  llvm::Error search(unsigned kind, StagePart last, const WorkerBytes *worker, llvm::function_ref<void(double)> take) {
    if (secondsLeft() <= 0)
      return llvm::Error::success();
    llvm::Expected<LayerPrograms> search = LayerPrograms::make(answers, step, kind, last, secondsLeft());
    if (!search)
      return search.takeError();
    llvm::Expected<LayerLine> least = leastLine(*search, /*secondsPerByte=*/0);
    if (!least)
      return least.takeError();
    take(least->bound);
    if (!worker)
      return llvm::Error::success();
    llvm::Expected<std::vector<PaidAt>> found = byteCostsOf(*search, *least, *worker);
    if (!found)
      return found.takeError();
    byteCosts = std::move(*found);
    return llvm::Error::success();
  }

  const PlanningTask &whole;
  const StageAnswers &answers;
  const CutStep &step;
  double end;                  ///< a reading of the clock
  std::vector<unsigned> order; ///< of kinds
  std::vector<PaidAt> byteCosts;
};

llvm::Expected<LayerBounds> fastestLayers(const PlanningTask &whole, int64_t workers, double seconds,
                                          PassSearches passes, llvm::ArrayRef<PaidAt> kept, FastestOps &ops) {
  std::optional<Pool> worker = poolOfWorker(whole.pool, workers);
  assert(worker && "the number of workers has been checked");
  std::vector<size_t> places;
  for (const CutPosition &place : layerCuts(whole.graph))
    places.push_back(place.position);
  llvm::Expected<CutStep> layers = cutStep(whole.graph, places, /*splitsBackward=*/false);
  if (!layers)
    return layers.takeError();
  const int64_t microBatches = whole.graph.wholeMicroBatches();
  const StageAnswers answers(whole, *layers, WorkerPools::equal(whole.pool, workers),
                             std::make_shared<StagePatterns>());
  std::vector<LayerMinima> minima;
  for (unsigned layer = 0; layer < layers->stages.size(); ++layer) {
    const unsigned kind = answers.kindOf(layer);
    minima.push_back(kind < layer ? minima[kind] : minimaOfOps(*layers, layer, ops));
  }
  LayerSearches searches(whole, answers, *layers, seconds);
  const bool isSearched = !whole.graph.overlaps && seconds > 0;
  const auto numWorkers = static_cast<double>(workers);
  const WorkerBytes ofWorker{static_cast<double>(minima.size()) / numWorkers, whole.memoryLimitBytes, kept, numWorkers};
  if (isSearched)
    if (llvm::Error error = searches.raise(ofWorker, passes, minima))
      return std::move(error);
  const std::vector<bool> mayShare = mayShareInStage(layers->graph, layers->split, workers);
  for (auto [own, follows, isAwaited, shares] :
       llvm::zip_equal(minima, linksBefore(layers->split, TransferTime::Forward),
                       linksBefore(layers->split, TransferTime::Backward), mayShare)) {
    if (shares)
      own.step = own.microBatch = 0;
    own.microBatch = std::max(own.microBatch, own.forward);
    own.step = std::max(own.step, static_cast<double>(microBatches) * own.microBatch);
    own.followsBefore = follows;
    own.isAwaited = isAwaited;
    own.back = isAwaited ? own.back : 0;
  }
  LayerBounds bounds{std::move(minima), {}};
  if (isSearched && !mayShare[searches.usual()])
    searches.addByteCosts(bounds);
  return bounds;
}

llvm::Expected<LayerBounds> fastestLayers(const PlanningTask &whole, int64_t workers, double seconds) {
  const Pool worker = *poolOfWorker(whole.pool, workers);
  FastestOps ops(worker, mostAxes(whole.request));
  return fastestLayers(whole, workers, seconds, PassSearches::Done, /*kept=*/{}, ops);
}

} // namespace apc

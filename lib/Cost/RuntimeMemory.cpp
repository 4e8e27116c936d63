// Scores, losses and sums of gradients as runtimes hold them.
#include "RuntimeMemory.h"

#include "AttentionCost.h"
#include "LocalSizes.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

using namespace llvm;

namespace apc {

namespace {

double localScores(const FactorRule &rule, const Strategy &strategy, const CostModel &model) {
  return scoresOf(rule, localFlops(rule, localFactorSizes(rule, strategy, model.getMesh())));
}

/// The op adds up exponentials of the scores of classes for a loss; its operand 0 are the scores.
bool isSumOfLoss(const OpGraph &graph, OpId op) {
  auto addsUp = [](const Factor &factor) { return factor.combiner == Combiner::LogSumExp; };
  return graph.op(op).kernel.isLoss && any_of(graph.ruleOf(op).factors, addsUp) && graph.op(op).operands[0];
}

/// Sequences that an attention goes over on a device; its operands are (sequences, heads, positions, elements), or
/// without sequences.
int64_t localSequences(const FactorRule &attention, ArrayRef<int64_t> sizes) {
  constexpr size_t dimsOfSeveral = 4;
  int64_t sequences = 1;
  if (attention.operands[0].dims.size() >= dimsOfSeveral)
    for (FactorId factor : attention.operands[0].dims.front())
      sequences *= sizes[factor.index()];
  return sequences;
}

/// Of an attention until its gradients: scores in parts, what stays with operands and result, and rotations.
double keptBytesOf(const FactorRule &attention, const Strategy &strategy, const CostModel &model) {
  const Runtime &runtime = model.getPool().runtime;
  const auto sizes = localFactorSizes(attention, strategy, model.getMesh());
  const double ofScore = runtime.keepsScores() ? runtime.scoreKeptBytes : 0;
  const int64_t sequences = localSequences(attention, sizes);
  const double ofElement = sequences > 1 ? runtime.batchedKeptBytes : runtime.attentionKeptBytes;
  double headElements = static_cast<double>(sequences);
  for (const auto &dim : ArrayRef(attention.operands[0].dims).take_back(2))
    for (FactorId factor : dim)
      headElements *= static_cast<double>(sizes[factor.index()]);
  return scoresOf(attention, localFlops(attention, sizes)) * ofScore +
         localElements(attention.results[0], sizes) * ofElement + headElements * runtime.rotationKeptBytes;
}

/// Attentions by the queries that they read, each with what reads its scores.
std::vector<KeptByKernels> keptScores(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model) {
  std::vector<KeptByKernels> kept;
  std::map<size_t, size_t> byQueries;
  for (bool areGradients : {false, true})
    for (size_t index = 0; index < graph.ops.size(); ++index) {
      const GraphOp &op = graph.ops[index];
      const FactorRule &rule = graph.ruleOf(OpId(index));
      if (!rule.attention || !op.operands[0] || isGradientOfAttention(rule) != areGradients)
        continue;
      size_t queries = op.operands[0]->index();
      if (areGradients) {
        if (auto found = byQueries.find(queries); found != byQueries.end())
          kept[found->second].ops.emplace_back(index);
        continue;
      }
      double bytes = keptBytesOf(rule, strategies[index], model);
      byQueries[queries] = kept.size();
      kept.push_back({*op.results[0],
                      {OpId(index)},
                      static_cast<int64_t>(bytes),
                      numTensors(model.getPool().runtime.scoreKeptBytes)});
    }
  return kept;
}

/// The sums come first, and the loss and the gradient read them.
KeptByKernels keptOfLoss(const OpGraph &graph, OpId sum, const Strategy &strategy, const CostModel &model,
                         ArrayRef<OpGraph::Use> readers) {
  const FactorRule &rule = graph.ruleOf(sum);
  double elements = localElements(rule.operands[0], localFactorSizes(rule, strategy, model.getMesh()));
  const Runtime &runtime = model.getPool().runtime;
  KeptByKernels kept{*graph.op(sum).operands[0], {sum}};
  kept.stayingBytes = static_cast<int64_t>(elements * runtime.stayingScoreBytes);
  kept.bytes = static_cast<int64_t>(elements * runtime.lossBytes) + 2 * kept.stayingBytes;
  kept.numBlocks = numTensors(runtime.lossBytes);
  for (OpGraph::Use use : readers)
    kept.ops.push_back(use.op);
  return kept;
}

} // namespace

int64_t numTensors(double bytesOfNumber) {
  constexpr double mostBytes = 4;
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(bytesOfNumber / mostBytes)));
}

std::vector<KeptByKernels> keptByKernels(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model) {
  const Runtime &runtime = model.getPool().runtime;
  std::vector<KeptByKernels> kept;
  if (runtime.keepsScores() || runtime.attentionKeptBytes > 0 || runtime.rotationKeptBytes > 0)
    kept = keptScores(graph, strategies, model);
  if (runtime.lossBytes == 0 && runtime.stayingScoreBytes == 0)
    return kept;
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (isSumOfLoss(graph, OpId(op)))
      kept.push_back(keptOfLoss(graph, OpId(op), strategies[op], model, uses[graph.ops[op].results[0]->index()]));
  return kept;
}

int64_t keptBesideResult(const OpGraph &graph, OpId op, const Strategy &strategy, const CostModel &model) {
  const Runtime &runtime = model.getPool().runtime;
  if (runtime.normalizationKeptBytes == 0 || !graph.op(op).kernel.isNormalization)
    return 0;
  const FactorRule &rule = graph.ruleOf(op);
  double elements = localElements(rule.results[0], localFactorSizes(rule, strategy, model.getMesh()));
  return static_cast<int64_t>(elements * runtime.normalizationKeptBytes);
}

std::vector<bool> madeInsideLosses(const OpGraph &graph, const Runtime &runtime) {
  if (!runtime.fusesLoss && !runtime.overwritesScores)
    return {};
  std::vector<bool> inside(graph.values.size());
  std::vector<ValueId> storages = graph.storages();
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (!isSumOfLoss(graph, OpId(op)))
      continue;
    ValueId scores = storages[graph.ops[op].operands[0]->index()];
    const GraphValue &own = graph.value(scores);
    ArrayRef<std::optional<ValueId>> from = graph.op(own.producer).operands;
    inside[scores.index()] = runtime.fusesLoss && from.size() == 1 && from[0] &&
                             graph.value(*from[0]).shape.elementBits < own.shape.elementBits;
    auto takesPlace = [&](const GraphValue &result) {
      return result.shape.numElements() == own.shape.numElements() &&
             (runtime.fusesLoss || result.shape.elementBits <= own.shape.elementBits);
    };
    for (OpGraph::Use use : uses[graph.ops[op].results[0]->index()])
      for (std::optional<ValueId> result : graph.op(use.op).results)
        if (result && takesPlace(graph.value(*result)))
          inside[storages[result->index()].index()] = true;
  }
  return inside;
}

int64_t workspaceOfScores(const OpGraph &graph, OpId op, const Strategy &strategy, const CostModel &model) {
  const FactorRule &rule = graph.ruleOf(op);
  const Runtime &runtime = model.getPool().runtime;
  if (!rule.attention || !runtime.keepsScores())
    return 0;
  return static_cast<int64_t>(localScores(rule, strategy, model) * runtime.scoreWorkBytes);
}

/// The place of the last op that a micro-batch of a stage runs in a backward pass that is not split, or in the part of
/// gradients of inputs.
static size_t endOfBackward(const OpGraph &graph, const Timeline &time) {
  const int64_t runs = graph.microBatches();
  if (graph.inFlight->weights)
    return time.at(*graph.inFlight->weights) - 1;
  size_t end = time.at(graph.inFlight->backward);
  for (size_t at = end; at < time.size(); ++at) {
    const OpId op = time.opAt(at);
    if (graph.op(op).repeats == runs && !graph.isUpdate(op))
      end = at;
  }
  return end;
}

StorageEnds endsInRuntime(StorageEnds ends, const OpGraph &graph, const Timeline &time, const Runtime &runtime) {
  if (!runtime.keepsSentValues || !graph.inFlight)
    return ends;
  const std::vector<ValueId> storages = graph.storages();
  const size_t last = endOfBackward(graph, time);
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const GraphOp &op = graph.ops[index];
    if (!op.isTransfer || !op.results.empty() || time.at(OpId(index)) >= time.at(graph.inFlight->backward))
      continue;
    size_t &end = ends.values[storages[op.operands[0]->index()].index()];
    end = std::max(end, last);
  }
  return ends;
}

std::vector<Arrival> arrivalsOf(const OpGraph &graph, const Timeline &time) {
  std::vector<Arrival> arrivals(graph.values.size(), Arrival::None);
  if (!graph.inFlight)
    return arrivals;
  const std::vector<bool> isWeight = graph.weights();
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const OpId producer = graph.values[v].producer;
    if (!graph.op(producer).isTransfer || isWeight[v] || graph.isAccumulated(ValueId(v)))
      continue;
    bool isGradient = time.at(producer) >= time.at(graph.inFlight->backward);
    arrivals[v] = isGradient ? Arrival::Gradient : Arrival::Activation;
  }
  return arrivals;
}

int64_t bytesInRuntime(const OpGraph &graph, ValueId value, const Sharding &sharding, const CostModel &model) {
  const GraphValue &own = graph.value(value);
  int64_t bytes = model.localBytes(own.shape, sharding);
  const Runtime &runtime = model.getPool().runtime;
  if (own.role != ValueRole::Gradient || !graph.isAccumulated(value))
    return bytes;
  if (runtime.fp16GradientHeldBytes == 0 || graph.op(own.producer).format != NumberFormat::F16)
    return bytes;
  constexpr int64_t bitsOfByte = 8;
  return bytes * bitsOfByte / own.shape.elementBits * runtime.fp16GradientHeldBytes;
}

} // namespace apc

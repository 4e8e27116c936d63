// Strategies by layout: batch and weights of computations, storage of parameters and states.
#include "LayoutFilter.h"

#include "../Parts/CutWeight.h"

#include "apc/Graph/LossValues.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

/// The points of a factor that the layout has cut: of experts, the batch, sequences, rows of a table, other weights.
static constexpr int ofExperts = 16, ofBatch = 8, ofContext = 4, ofRows = 2, ofWeight = 1;

/// The axes of two lists, outermost first.
static AxisList joined(const AxisList &a, const AxisList &b) {
  AxisList axes = a;
  axes.append(b);
  llvm::sort(axes);
  return axes;
}

/// `axes` without `other`.
static AxisList without(const AxisList &axes, const AxisList &other) {
  AxisList rest = axes;
  llvm::erase_if(rest, [&](AxisId axis) { return llvm::is_contained(other, axis); });
  return rest;
}

/// Are all axes of `part` among `axes`, or none of them?
static bool isAllOrNothing(const AxisList &axes, const AxisList &part) {
  auto taken = llvm::count_if(part, [&](AxisId axis) { return llvm::is_contained(axes, axis); });
  return taken == 0 || taken == static_cast<std::ptrdiff_t>(part.size());
}

/// By op: it reads constants, or what is made of them alone, as the op of a causal mask does.
static std::vector<bool> opsOfConstants(const OpGraph &graph) {
  std::vector<bool> areOf(graph.ops.size());
  for (size_t op = 0; op < graph.ops.size(); ++op)
    areOf[op] = !graph.ops[op].operands.empty() && llvm::all_of(graph.ops[op].operands, [&](auto operand) {
      return !operand || areOf[graph.value(*operand).producer.index()];
    });
  return areOf;
}

LayoutFilter::LayoutFilter(const OpGraph &graph, const LayoutMesh &mesh, const ParallelDegrees &layout, SumsWait sums,
                           bool gathersLogits)
    : graph(graph), mesh(mesh), replicas(mesh.replicas()), ofSequences(joined(mesh.context, mesh.tensor)),
      replicasOfExperts(without(layout.hasWholeExperts() ? joined(replicas, mesh.tensor) : replicas, mesh.experts)),
      batchOfExperts(without(mesh.data, mesh.experts)), sequencesOfExperts(without(ofSequences, mesh.experts)),
      zero(layout.zero), sums(sums), gathersLogits(gathersLogits), cutsSequences(layout.cutsSequences),
      hasWholeExperts(layout.hasWholeExperts()), inputs(inputFactors(graph)), experts(graph.ops.size()),
      isWeight(graph.weights()), isOfConstants(opsOfConstants(graph)), isOfLoss(lossValues(graph)),
      parts(stepParts(graph)), follows(graph.followers()), kindsOfOps(graph.ops.size()) {
  for (const AxisList &axes : {mesh.data, mesh.context, mesh.tensor}) {
    const AxisList others = without(axes, mesh.experts);
    groups.push_back(others);
    groups.push_back(without(axes, others));
  }
  if (!mesh.experts.empty() || hasWholeExperts)
    experts = expertFactors(graph);
  for (size_t op = 0; op < parts.size(); ++op)
    if (parts[op] != Part::Computation) {
      inputs.batch[op].reset();
      inputs.sequence[op].reset();
    }
}

/// The leader decides for the ops that follow it: a gradient may not know that one of its factors is the batch.
bool LayoutFilter::operator()(OpId op, const Strategy &strategy) {
  return follows[op.index()] ? mayPass(op, strategy) : score(op, strategy) == best(op);
}

bool LayoutFilter::cutsStorage(OpId op) const {
  Part part = parts[op.index()];
  return (part == Part::Parameter && zero == 3) || (part == Part::State && zero >= 1);
}

/// May the op take its operands partial as the strategy has them? Sums of gradients alone may.
bool LayoutFilter::mayPass(OpId op, const Strategy &strategy) const {
  AxisList passing;
  for (const AxisList &axes : strategy.partialInputs)
    passing.append(axes);
  bool isSum = graph.op(op).accumulates && parts[op.index()] == Part::State;
  if (isSum && !mayWait(op, passing))
    return false;
  if (passing.empty())
    return true;
  if (!follows[op.index()] && !graph.op(op).accumulates)
    return false;
  return llvm::all_of(groups, [&](const AxisList &group) { return isAllOrNothing(passing, group); });
}

/// May a sum over micro-batches be partial over the axes of dp and cp among these?
bool LayoutFilter::mayWait(OpId op, const AxisList &passing) const {
  auto isPassing = [&](AxisId axis) { return llvm::is_contained(passing, axis); };
  if (llvm::any_of(replicasOf(op), isPassing))
    return zero <= 1 && (sums != SumsWait::ForAll || llvm::all_of(replicasOf(op), isPassing));
  return zero >= 2 || sums == SumsWait::Free || replicasOf(op).empty();
}

bool LayoutFilter::readsLogits(OpId op) const {
  return llvm::any_of(graph.op(op).operands, [&](auto value) { return value && isOfLoss[value->index()]; });
}

/// Does the strategy cut the loss, or what leads to it, over ranks that have all logits?
bool LayoutFilter::cutsGatheredLogits(OpId op, const Strategy &strategy) const {
  auto isTensor = [&](AxisId axis) { return llvm::is_contained(mesh.tensor, axis); };
  return gathersLogits && readsLogits(op) &&
         llvm::any_of(strategy.axes, [&](const AxisList &axes) { return llvm::any_of(axes, isTensor); });
}

/// Does the op add up what stands along a factor, as statistics of rows do? A table of which ranks have parts does not,
/// nor does a loss, whose classes are cut like the columns of the weight that makes them.
bool LayoutFilter::sumsRows(OpId op, FactorId factor) const {
  const FactorRule &rule = graph.ruleOf(op);
  return rule.work == Work::Stream && rule.isReduction(factor) && rule.factor(factor).combiner == Combiner::Sum &&
         !cutWeight(graph, isWeight, op) && !readsLogits(op);
}

/// The operand with statistics that are taken in the op's own pass over rows, if it has one.
std::optional<unsigned> LayoutFilter::passStatistics(OpId op) const {
  for (auto [index, value] : llvm::enumerate(graph.op(op).operands))
    if (value && graph.op(graph.value(*value).producer).inPass)
      return static_cast<unsigned>(index);
  return std::nullopt;
}

/// Does the op pass over rows of which the factor is a part? A loss has its classes cut all the same.
bool LayoutFilter::passesOverRows(OpId op, FactorId factor) const {
  const std::optional<unsigned> statistics = passStatistics(op);
  const FactorRule &rule = graph.ruleOf(op);
  return statistics && rule.results.front().has(factor) && !rule.operands[*statistics].has(factor) && !readsLogits(op);
}

/// Of what whole experts compute: ranks of ep have experts of their own, and the others tokens.
std::optional<int> LayoutFilter::scoreOfWhole(OpId op, FactorId factor, const AxisList &axes) const {
  auto pointsIf = [&](const AxisList &wanted, int points) {
    return axes == wanted ? std::optional(points) : std::nullopt;
  };
  const bool isBatch = inputs.batch[op.index()] == factor, isSequence = inputs.sequence[op.index()] == factor;
  if (experts[op.index()] == factor)
    return pointsIf(mesh.experts, ofExperts);
  if (isBatch && isSequence)
    return pointsIf(replicasOfExperts, ofBatch + ofContext);
  if (isBatch)
    return pointsIf(batchOfExperts, ofBatch);
  if (isSequence)
    return pointsIf(sequencesOfExperts, ofContext);
  // Seats of which nobody knows the sequence are tokens all the same.
  if (inputs.sequence[op.index()] || parts[op.index()] != Part::Computation)
    return std::nullopt;
  const std::optional<unsigned> weight = cutWeight(graph, isWeight, op);
  if (!weight)
    return pointsIf(sequencesOfExperts, 0);
  return graph.ruleOf(op).operands[*weight].has(factor) ? std::nullopt : pointsIf(sequencesOfExperts, ofContext);
}

std::optional<int> LayoutFilter::scoreFactor(OpId op, FactorId factor, const AxisList &axes) const {
  if (hasWholeExperts && experts[op.index()])
    return scoreOfWhole(op, factor, axes);
  bool isBatch = inputs.batch[op.index()] == factor, isSequence = inputs.sequence[op.index()] == factor;
  if (experts[op.index()] == factor && axes == mesh.experts)
    return ofExperts;
  if (isBatch && (axes == mesh.data || (experts[op.index()] && axes == batchOfExperts)))
    return ofBatch;
  if (isBatch && isSequence && axes == replicas)
    return ofBatch + ofContext;
  if (isSequence && axes == mesh.context)
    return ofContext;
  if (isBatch)
    return std::nullopt;
  if (!cutsSequences && (isSequence || sumsRows(op, factor) || passesOverRows(op, factor)))
    return std::nullopt;
  if (isSequence && !mesh.context.empty() && axes == ofSequences)
    return ofContext;
  if (isOfConstants[op.index()] && axes == mesh.context) // the part of a mask that the rank's queries are seen through
    return 0;
  if (axes != mesh.tensor)
    return std::nullopt;
  const FactorRule &rule = graph.ruleOf(op);
  std::optional<unsigned> weight = cutWeight(graph, isWeight, op);
  if (!weight || !rule.operands[*weight].has(factor))
    return 0;
  return rule.operands[*weight].sparse && rule.isReduction(factor) ? ofRows : ofWeight;
}

int LayoutFilter::score(OpId op, const Strategy &strategy) const {
  if (!mayPass(op, strategy) || cutsGatheredLogits(op, strategy))
    return -1;
  if (cutsStorage(op))
    return scoreStorage(op, strategy);
  int points = 0;
  for (auto [index, axes] : llvm::enumerate(strategy.axes)) {
    if (axes.empty())
      continue;
    std::optional<int> own = scoreFactor(op, FactorId(index), axes);
    if (!own)
      return -1;
    points += *own;
  }
  return points;
}

/// As many axes of a shard, of dp and cp, as can be, each worth a point, and no others of these; tp's together on one
/// dim or nowhere, ep's on that of the experts. Ranks of tp have copies of whole experts as those of dp and cp have.
int LayoutFilter::scoreStorage(OpId op, const Strategy &strategy) const {
  int points = 0;
  if (std::optional<FactorId> factor = experts[op.index()])
    for (AxisId axis : mesh.experts)
      if (!llvm::is_contained(strategy.axes[factor->index()], axis))
        return -1;
  const bool isWhole = hasWholeExperts && experts[op.index()];
  for (const AxisList &axes : strategy.axes) {
    if (isWhole) {
      points += static_cast<int>(axes.size());
      continue;
    }
    if (!isAllOrNothing(axes, mesh.tensor))
      return -1;
    for (AxisId axis : axes) {
      if (!llvm::is_contained(replicas, axis))
        continue;
      if (!llvm::is_contained(mesh.storage, axis))
        return -1;
      ++points;
    }
  }
  return points;
}

uint32_t LayoutFilter::kindOf(OpId op) {
  std::optional<uint32_t> &kind = kindsOfOps[op.index()];
  if (!kind)
    kind = kinds.idOf({graph.op(op).rule, inputs.batch[op.index()], inputs.sequence[op.index()], experts[op.index()],
                       cutWeight(graph, isWeight, op), parts[op.index()], graph.op(op).accumulates, readsLogits(op),
                       follows[op.index()], isOfConstants[op.index()], passStatistics(op)});
  return *kind;
}

int LayoutFilter::best(OpId op) {
  const uint32_t kind = kindOf(op);
  bestOf.resize(std::max<size_t>(bestOf.size(), kind + 1));
  std::optional<int> &best = bestOf[kind];
  if (best)
    return *best;
  best = -1;
  for (const Strategy &strategy : enumerateStrategies(graph.ruleOf(op), mesh.mesh))
    best = std::max(*best, score(op, strategy));
  return *best;
}

} // namespace apc

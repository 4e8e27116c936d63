// Strategies by layout: batch and weights of computations, storage of parameters and states.
#include "LayoutFilter.h"
#include "../References.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

static bool hasFactor(const RuleTensor &tensor, FactorId factor) {
  return llvm::any_of(tensor.dims, [&](const DimFactors &dim) { return llvm::is_contained(dim, factor); });
}

LayoutFilter::LayoutFilter(const OpGraph &graph, const LayoutMesh &layout, int zero, bool isStrict)
    : graph(graph), layout(layout), zero(zero), isStrict(isStrict), batch(batchFactors(graph)),
      isWeight(graph.weights()), parts(stepParts(graph)), follows(graph.followers()) {
  for (size_t op = 0; op < parts.size(); ++op)
    if (parts[op] != Part::Computation)
      batch[op].reset();
}

/// The leader decides for the ops that follow it: a gradient may not know that one of its factors is the batch.
bool LayoutFilter::operator()(OpId op, const Strategy &strategy) {
  return follows[op.index()] ? mayPass(op, strategy) : score(op, strategy) == best(op);
}

bool LayoutFilter::cutsStorage(OpId op) const {
  Part part = parts[op.index()];
  return (part == Part::Parameter && zero == 3) || (part == Part::State && zero >= 1);
}

bool LayoutFilter::isAllOrNothing(const AxisList &axes, const AxisList &part) const {
  auto taken = llvm::count_if(part, [&](AxisId axis) { return llvm::is_contained(axes, axis); });
  return taken == 0 || taken == static_cast<std::ptrdiff_t>(part.size());
}

/// May the op take its operands partial as the strategy has them? Sums of gradients alone may.
bool LayoutFilter::mayPass(OpId op, const Strategy &strategy) const {
  AxisList passing;
  for (const AxisList &axes : strategy.partialInputs)
    passing.append(axes);
  bool isSum = graph.op(op).accumulates && parts[op.index()] == Part::State;
  if (passing.empty())
    return !isSum || zero >= 2 || !isStrict || layout.data.empty();
  if (!follows[op.index()] && !graph.op(op).accumulates)
    return false;
  if (!isAllOrNothing(passing, layout.data) || !isAllOrNothing(passing, layout.tensor))
    return false;
  bool waits = !layout.data.empty() && llvm::is_contained(passing, layout.data.front());
  if (isSum)
    return waits ? zero <= 1 : zero >= 2 || !isStrict || layout.data.empty();
  return true;
}

int LayoutFilter::score(OpId op, const Strategy &strategy) const {
  if (!mayPass(op, strategy))
    return -1;
  if (cutsStorage(op))
    return scoreStorage(strategy);
  int points = 0;
  std::optional<unsigned> weight = cutWeight(op);
  for (auto [index, axes] : llvm::enumerate(strategy.axes)) {
    if (axes.empty())
      continue;
    FactorId factor(index);
    bool isBatch = batch[op.index()] == factor;
    if (axes != (isBatch ? layout.data : layout.tensor))
      return -1;
    points += isBatch ? 2 : weight && hasFactor(graph.ruleOf(op).operands[*weight], factor) ? 1 : 0;
  }
  return points;
}

/// As many of dp's axes as can be, each worth a point; tp's together on one dim or nowhere.
int LayoutFilter::scoreStorage(const Strategy &strategy) const {
  int points = 0;
  for (const AxisList &axes : strategy.axes) {
    if (!isAllOrNothing(axes, layout.tensor))
      return -1;
    points +=
        static_cast<int>(llvm::count_if(axes, [&](AxisId axis) { return llvm::is_contained(layout.data, axis); }));
  }
  return points;
}

int LayoutFilter::best(OpId op) {
  auto key =
      std::make_tuple(graph.op(op).rule, batch[op.index()], cutWeight(op), parts[op.index()], graph.op(op).accumulates);
  auto [entry, isNew] = known.try_emplace(key, -1);
  if (isNew)
    for (const Strategy &strategy : enumerateStrategies(graph.ruleOf(op), layout.mesh))
      entry->second = std::max(entry->second, score(op, strategy));
  return entry->second;
}

/// The operand of a contraction, or the table of an embedding, that is a weight and that tp therefore cuts.
std::optional<unsigned> LayoutFilter::cutWeight(OpId op) const {
  const FactorRule &rule = graph.ruleOf(op);
  for (auto [index, value] : llvm::enumerate(graph.op(op).operands))
    if (value && isWeight[value->index()] && (rule.work == Work::Contraction || rule.operands[index].sparse))
      return static_cast<unsigned>(index);
  return std::nullopt;
}

} // namespace apc

// Strategies with the axes of one kind of parallelism taken out of them, costed as a program.
#include "Contributions.h"

#include "../References.h"
#include "StepParts.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace apc {

namespace {

class Reduction {
public:
  Reduction(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const Mesh &mesh)
      : graph(graph), strategies(strategies), mesh(mesh), parts(stepParts(graph)), isWeight(graph.weights()),
        follows(graph.followers()), batch(batchFactors(graph)), inUse(graph.ops.size()) {
    findBatch();
    findUse();
  }

  /// The strategies without the kind's cuts.
  std::vector<Strategy> without(ParallelKind kind) const;

private:
  using Axes = std::set<AxisId>;

  void findBatch();
  void findUse();
  std::vector<Axes> axesOfWeights() const;
  /// Parameters, states, what is made of weights alone, and outputs, which stay as they are given out.
  bool rests(OpId op) const;
  Strategy reduced(OpId op, ParallelKind kind) const;
  void settle(OpId op, std::vector<Strategy> &reduced) const;

  const OpGraph &graph;
  llvm::ArrayRef<Strategy> strategies;
  const Mesh &mesh;
  std::vector<StepPart> parts;
  std::vector<bool> isWeight;                 ///< by value
  std::vector<bool> follows;                  ///< by op: tied to another, which leads
  std::vector<std::optional<FactorId>> batch; ///< by op
  std::vector<std::optional<Axes>> inUse;     ///< by op that rests: the axes that cut its parameter where it is used
};

/// A gradient may not know that one of its factors is the batch: the op that leads it does.
void Reduction::findBatch() {
  for (const TiedOps &tie : graph.ties) {
    std::optional<FactorId> leading = batch[tie.front().index()];
    for (OpId op : llvm::ArrayRef<OpId>(tie).drop_front()) {
      const FactorRule &rule = graph.ruleOf(op);
      llvm::ArrayRef<std::string> names = graph.op(op).leadingFactors;
      batch[op.index()].reset();
      for (unsigned factor = 0; leading && factor < rule.numFactors(); ++factor)
        if ((names.empty() ? rule.factors[factor].name : names[factor]) ==
            graph.ruleOf(tie.front()).factor(*leading).name)
          batch[op.index()] = FactorId(factor);
    }
  }
}

bool Reduction::rests(OpId op) const {
  if (parts[op.index()] != StepPart::Computation || graph.op(op).results.empty())
    return true;
  return !follows[op.index()] && llvm::any_of(graph.op(op).results, [&](std::optional<ValueId> value) {
    return value && isWeight[value->index()];
  });
}

/// By value that is a weight: the axes that cut it where computation reads it.
std::vector<Reduction::Axes> Reduction::axesOfWeights() const {
  std::vector<Axes> axes(graph.values.size());
  for (size_t index = graph.ops.size(); index-- > 0;) {
    if (parts[index] != StepPart::Computation || graph.ops[index].results.empty())
      continue;
    const GraphOp &op = graph.ops[index];
    for (auto [operand, value] : llvm::enumerate(op.operands)) {
      if (!value || !isWeight[value->index()])
        continue;
      Axes &own = axes[value->index()];
      if (rests(OpId(index)))
        own.insert(axes[op.results.front()->index()].begin(), axes[op.results.front()->index()].end());
      else
        for (const AxisList &cut :
             operandSharding(graph.ruleOf(OpId(index)), strategies[index], static_cast<unsigned>(operand)).dims)
          own.insert(cut.begin(), cut.end());
    }
  }
  return axes;
}

void Reduction::findUse() {
  std::vector<Axes> axes = axesOfWeights();
  for (auto [index, op] : llvm::enumerate(graph.ops))
    for (std::optional<ValueId> value : op.results) {
      std::optional<ValueId> weight = value ? graph.value(*value).replaces : std::nullopt;
      if (!weight)
        weight = value;
      if (weight && isWeight[weight->index()] && rests(OpId(index)))
        inUse[index] = axes[weight->index()];
    }
  for (const TiedOps &tie : graph.ties) {
    auto known = llvm::find_if(tie, [&](OpId op) { return inUse[op.index()].has_value(); });
    if (known == tie.end() || !rests(tie.front()))
      continue;
    std::optional<Axes> common = inUse[known->index()];
    for (OpId op : tie)
      inUse[op.index()] = common;
  }
  for (auto [index, op] : llvm::enumerate(graph.ops))
    if (op.results.empty() && op.operands.front())
      inUse[index] = inUse[graph.value(*op.operands.front()).producer.index()];
}

Strategy Reduction::reduced(OpId op, ParallelKind kind) const {
  Strategy strategy = strategies[op.index()];
  const std::optional<Axes> &used = inUse[op.index()];
  for (auto [factor, axes] : llvm::enumerate(strategy.axes)) {
    bool isBatch = batch[op.index()] == FactorId(factor);
    if (!rests(op)) {
      if (kind == (isBatch ? ParallelKind::Data : ParallelKind::Tensor))
        axes.clear();
    } else if (used) {
      llvm::erase_if(axes, [&](AxisId axis) {
        return kind == (used->count(axis) ? ParallelKind::Tensor : ParallelKind::Storage);
      });
    }
  }
  if (llvm::Error illegal = check(graph.ruleOf(op), strategy, mesh)) {
    llvm::consumeError(std::move(illegal)); // the minor factor of a dim without its major one: whole, then
    for (AxisList &axes : strategy.axes)
      axes.clear();
  }
  return strategy;
}

/// Lets the op take its operands partial over those axes alone over which they still are.
void Reduction::settle(OpId op, std::vector<Strategy> &reduced) const {
  const FactorRule &rule = graph.ruleOf(op);
  for (auto [group, axes] : llvm::zip_equal(rule.linear, reduced[op.index()].partialInputs))
    for (unsigned operand : group) {
      std::optional<ValueId> value = graph.op(op).operands[operand];
      if (!value)
        continue;
      const GraphValue &made = graph.value(*value);
      AxisList partial =
          resultSharding(graph.ruleOf(made.producer), reduced[made.producer.index()], made.resultIndex).partial;
      llvm::erase_if(axes, [&](AxisId axis) { return !llvm::is_contained(partial, axis); });
    }
}

std::vector<Strategy> Reduction::without(ParallelKind kind) const {
  std::vector<Strategy> result;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    result.push_back(reduced(OpId(op), kind));
    settle(OpId(op), result);
  }
  return result;
}

llvm::Expected<std::optional<Candidate>> costWithout(const PlanningTask &task, const Candidate &candidate,
                                                     const Reduction &reduction, ParallelKind kind) {
  std::vector<Strategy> strategies = reduction.without(kind);
  if (strategies == candidate.strategies)
    return std::nullopt;
  llvm::Expected<Candidate> without = costCandidate(task, candidate.mesh, std::move(strategies));
  return without ? llvm::Expected<std::optional<Candidate>>(std::move(*without)) : without.takeError();
}

} // namespace

llvm::StringRef parallelKindName(ParallelKind kind) {
  switch (kind) {
  case ParallelKind::Data:
    return "data parallel";
  case ParallelKind::Tensor:
    return "tensor parallel";
  case ParallelKind::Storage:
    return "cut storage";
  }
  llvm_unreachable("every kind has a name");
}

llvm::Expected<std::optional<Candidate>> withoutKind(const PlanningTask &task, const Candidate &candidate,
                                                     ParallelKind kind) {
  return costWithout(task, candidate, Reduction(task.graph, candidate.strategies, candidate.mesh), kind);
}

std::vector<PlanContribution> contributionsOf(const PlanningTask &task, const Candidate &candidate) {
  std::vector<PlanContribution> contributions;
  const Reduction reduction(task.graph, candidate.strategies, candidate.mesh);
  for (ParallelKind kind : parallelKinds) {
    llvm::Expected<std::optional<Candidate>> without = costWithout(task, candidate, reduction, kind);
    if (!without)
      llvm::consumeError(without.takeError());
    else if (*without)
      contributions.push_back({parallelKindName(kind).str(), (*without)->seconds(), (*without)->cost.memory.total()});
  }
  return contributions;
}

} // namespace apc

// Axes by their use, and strategies that follow.
#include "Choices.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"

namespace apc {

std::vector<std::vector<OpId>> opsDecidedTogether(const OpGraph &graph) {
  std::vector<const TiedOps *> tieOf(graph.ops.size());
  for (const TiedOps &tie : graph.ties)
    for (OpId op : tie)
      tieOf[op.index()] = &tie;
  std::vector<std::vector<OpId>> together;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const TiedOps *tie = tieOf[index];
    if (!tie)
      together.push_back({OpId(index)});
    else if (tie->front() == OpId(index))
      together.push_back(*tie);
  }
  return together;
}

std::vector<uint32_t> axisDigits(const Strategy &strategy, size_t numAxes) {
  std::vector<uint32_t> digits(numAxes, 0);
  uint32_t digit = 0;
  for (const auto &lists : {llvm::ArrayRef<AxisList>(strategy.axes), llvm::ArrayRef<AxisList>(strategy.partialInputs)})
    for (const AxisList &list : lists) {
      ++digit;
      for (AxisId axis : list)
        digits[axis.index()] = digit;
    }
  return digits;
}

std::vector<uint32_t> axisDigits(const Sharding &sharding, size_t numAxes) {
  std::vector<uint32_t> digits(numAxes, 0);
  for (auto [dim, list] : llvm::enumerate(sharding.dims))
    for (AxisId axis : list)
      digits[axis.index()] = static_cast<uint32_t>(dim) +
                             (sharding.partsOf(static_cast<unsigned>(dim)).empty() ? 1 : sharding.numDims() + 2);
  for (AxisId axis : sharding.partial)
    digits[axis.index()] = sharding.numDims() + 1;
  return digits;
}

std::optional<Strategy> followed(const FactorRule &leader, const Strategy &strategy, const FactorRule &follower,
                                 llvm::ArrayRef<std::string> leading, const Mesh &mesh) {
  if (leading.empty() && follower == leader) // a recomputed copy
    return strategy;
  Strategy own;
  own.partialInputs.resize(follower.linear.size());
  for (auto [index, factor] : llvm::enumerate(follower.factors)) {
    const std::string &name = leading.empty() ? factor.name : leading[index];
    const auto *found = llvm::find_if(leader.factors, [&](const Factor &known) { return known.name == name; });
    own.axes.push_back(found == leader.factors.end() ? AxisList() : strategy.axes[found - leader.factors.begin()]);
  }
  if (llvm::Error illegal = check(follower, own, mesh)) {
    llvm::consumeError(std::move(illegal));
    return std::nullopt;
  }
  return own;
}

/// Does the op give a gradient of the same tie more bits? It is then summed over devices with these, not before.
static bool widensGradient(const OpGraph &graph, llvm::ArrayRef<OpId> ops, OpId op) {
  const FactorRule &rule = graph.ruleOf(op);
  std::optional<ValueId> read = rule.operands.size() == 1 ? graph.op(op).operands[0] : std::nullopt;
  return read && op != ops.front() && !graph.op(op).leadingFactors.empty() && rule.linear.size() == 1 &&
         rule.results.size() == 1 && rule.results[0].elementBits > rule.operands[0].elementBits &&
         graph.value(*read).producer != ops.front() && llvm::is_contained(ops, graph.value(*read).producer);
}

/// `strategy` of an op with its only operand partial as `strategies` of the tied ops make it.
static Strategy asMade(Strategy strategy, const OpGraph &graph, llvm::ArrayRef<OpId> ops,
                       llvm::ArrayRef<Strategy> strategies, OpId op) {
  const GraphValue &read = graph.value(*graph.op(op).operands[0]);
  const auto *maker = llvm::find(ops, read.producer);
  strategy.partialInputs.front() =
      resultSharding(graph.ruleOf(*maker), strategies[maker - ops.begin()], read.resultIndex).partial;
  return strategy;
}

std::optional<Choice> followedByAll(const OpGraph &graph, llvm::ArrayRef<OpId> ops, const Strategy &strategy,
                                    const Mesh &mesh) {
  Choice choice{{strategy}};
  for (OpId op : ops.drop_front()) {
    std::optional<Strategy> own =
        followed(graph.ruleOf(ops.front()), strategy, graph.ruleOf(op), graph.op(op).leadingFactors, mesh);
    if (!own)
      return std::nullopt;
    if (widensGradient(graph, ops, op)) {
      own = asMade(std::move(*own), graph, ops, choice.strategies, op);
      if (llvm::Error illegal = check(graph.ruleOf(op), *own, mesh)) {
        llvm::consumeError(std::move(illegal));
        return std::nullopt;
      }
    }
    choice.strategies.push_back(std::move(*own));
  }
  return choice;
}

/// Does the op read a parameter and nothing else? A transpose or cast of a weight.
static bool readsParameterAlone(const OpGraph &graph, OpId op) {
  llvm::ArrayRef<std::optional<ValueId>> operands = graph.op(op).operands;
  return operands.size() == 1 && operands[0] && graph.value(*operands[0]).role == ValueRole::Parameter;
}

/// Does the op, tied to `leader`, add up all the gradients that it reads, or hand on the gradient of a weight? Then its
/// operands may be partial together. A recomputed copy, whose factors are the leader's own, is none.
static bool isSum(const OpGraph &graph, OpId op, OpId leader) {
  const FactorRule &rule = graph.ruleOf(op);
  bool addsUp = rule.operands.size() > 1 || graph.op(op).accumulates || readsParameterAlone(graph, leader);
  return !graph.op(op).leadingFactors.empty() && addsUp && rule.linear.size() == 1 &&
         rule.linear.front().size() == rule.operands.size();
}

std::vector<TiedKey> tiedKey(const OpGraph &graph, llvm::ArrayRef<OpId> ops) {
  std::vector<TiedKey> keys;
  for (OpId id : ops) {
    const GraphOp &op = graph.op(id);
    TiedKey &key = keys.emplace_back(TiedKey{op.rule});
    key.readsParameterAlone = readsParameterAlone(graph, id);
    key.accumulates = op.accumulates;
    key.leadingFactors = op.leadingFactors;
    if (widensGradient(graph, ops, id)) {
      const GraphValue &read = graph.value(*op.operands[0]);
      key.widened = std::pair(size_t(llvm::find(ops, read.producer) - ops.begin()), read.resultIndex);
    }
  }
  return keys;
}

/// Axes that no factor and no group of operands has.
static AxisList freeAxes(const Strategy &strategy, const Mesh &mesh) {
  AxisList free;
  std::vector<uint32_t> digits = axisDigits(strategy, mesh.numAxes());
  for (auto [axis, digit] : llvm::enumerate(digits))
    if (digit == 0)
      free.push_back(AxisId(axis));
  return free;
}

/// `strategy` with a sum that is partial over `passing`, and whole along them.
static Strategy passedOn(Strategy strategy, const AxisList &passing) {
  for (AxisList &axes : strategy.axes)
    llvm::erase_if(axes, [&](AxisId axis) { return llvm::is_contained(passing, axis); });
  strategy.partialInputs.front() = passing;
  return strategy;
}

/// The sets of axes over which sums of gradients may be partial: all of those that `leading` leaves free and, where
/// \p together, those of one of its factors, by which the sum is then cut as it is settled.
static std::vector<AxisList> passingSets(const Strategy &leading, const Mesh &mesh, bool together) {
  AxisList free = freeAxes(leading, mesh);
  std::vector<AxisList> sets;
  for (size_t set = 1; set < (size_t(1) << free.size()); ++set) {
    AxisList &own = sets.emplace_back();
    for (auto [index, axis] : llvm::enumerate(free))
      if (set >> index & 1)
        own.push_back(axis);
  }
  if (together)
    llvm::copy_if(leading.axes, std::back_inserter(sets), [](const AxisList &axes) { return !axes.empty(); });
  return sets;
}

std::vector<Choice> withPartialSums(const OpGraph &graph, llvm::ArrayRef<OpId> ops, const Choice &choice,
                                    const Mesh &mesh) {
  std::vector<size_t> sums;
  bool accumulates = false, addsUp = false;
  for (size_t position = 1; position < ops.size(); ++position)
    if (isSum(graph, ops[position], ops.front())) {
      sums.push_back(position);
      accumulates |= graph.op(ops[position]).accumulates;
      addsUp |= graph.ruleOf(ops[position]).operands.size() > 1;
    }
  std::vector<Choice> choices;
  if (sums.empty())
    return choices;
  // Gradients of weights are cut once, behind the last micro-batch: over any axes.
  Strategy whole;
  for (const AxisList &passing : passingSets(accumulates ? whole : choice.strategies.front(), mesh, addsUp)) {
    Choice partial = choice;
    partial.passing = passing;
    for (size_t position : sums)
      partial.strategies[position] = passedOn(std::move(partial.strategies[position]), passing);
    bool isLegal = llvm::all_of(sums, [&](size_t position) {
      llvm::Error illegal = check(graph.ruleOf(ops[position]), partial.strategies[position], mesh);
      bool legal = !illegal;
      llvm::consumeError(std::move(illegal));
      return legal;
    });
    if (isLegal)
      choices.push_back(std::move(partial));
  }
  return choices;
}

} // namespace apc

// Forward pass, backward pass and update, told by ties, by repeats and by reads.
#include "StageParts.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

bool isSource(const OpGraph &graph, OpId id) {
  const GraphOp &op = graph.op(id);
  return op.operands.empty() && llvm::any_of(op.results, [&](std::optional<ValueId> result) {
           ValueRole role = result ? graph.value(*result).role : ValueRole::Activation;
           return role == ValueRole::Input || role == ValueRole::Parameter || role == ValueRole::OptimizerState;
         });
}

std::vector<std::optional<OpId>> leadersOf(const OpGraph &graph) {
  std::vector<std::optional<OpId>> leaders(graph.ops.size());
  for (const TiedOps &tie : graph.ties)
    for (OpId op : tie)
      leaders[op.index()] = tie.front();
  return leaders;
}

static bool makesGradient(const OpGraph &graph, OpId op) {
  return llvm::any_of(graph.op(op).results, [&](std::optional<ValueId> result) {
    return result && graph.value(*result).role == ValueRole::Gradient;
  });
}

/// Is the op tied to a source, or to an op behind it? Leaders of gradients stand before them.
static bool isLedByUpdate(const OpGraph &graph, OpId op, llvm::ArrayRef<std::optional<OpId>> leaders) {
  std::optional<OpId> leader = leaders[op.index()];
  return !leader || op < *leader || isSource(graph, *leader);
}

bool addsUp(const FactorRule &rule) {
  return rule.operands.size() > 1 && rule.results.size() == 1 && rule.linear.size() == 1 &&
         rule.linear.front().size() == rule.operands.size() &&
         llvm::all_of(rule.operands, [&](const RuleTensor &operand) { return operand.dims == rule.results[0].dims; });
}

std::vector<bool> valuesOfStep(const OpGraph &graph) {
  std::vector<bool> isFixed(graph.values.size());
  for (size_t op = 0; op < graph.ops.size(); ++op)
    for (std::optional<ValueId> result : graph.ops[op].results)
      if (result)
        isFixed[result->index()] = isSource(graph, OpId(op))
                                       ? graph.value(*result).role == ValueRole::Parameter
                                       : llvm::all_of(graph.ops[op].operands, [&](std::optional<ValueId> operand) {
                                           return !operand || isFixed[operand->index()];
                                         });
  return isFixed;
}

std::vector<bool> valuesMadeByEach(const OpGraph &graph, llvm::ArrayRef<StagePart> parts) {
  const std::vector<bool> isTrained = graph.replaced();
  std::vector<bool> isFree(graph.values.size()), isMade(graph.values.size());
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const bool isEnd = isSource(graph, OpId(op));
    auto isFreeOperand = [&](std::optional<ValueId> operand) { return !operand || isFree[operand->index()]; };
    for (std::optional<ValueId> result : graph.ops[op].results)
      if (result) {
        isFree[result->index()] =
            isEnd ? graph.value(*result).role == ValueRole::Parameter && !isTrained[result->index()]
                  : parts[op] == StagePart::Forward && llvm::all_of(graph.ops[op].operands, isFreeOperand);
        isMade[result->index()] = !isEnd && isFree[result->index()];
      }
  }
  return isMade;
}

/// Ops that are tied to nothing, read sources alone, and are read by no op of the forward pass, run with their readers:
/// the seed of a scaled loss. A sum over micro-batches that the update alone reads, as that of the weights of a loss,
/// stays in the forward pass.
static void moveToReaders(const OpGraph &graph, llvm::ArrayRef<std::optional<OpId>> leaders,
                          std::vector<StagePart> &parts) {
  std::vector<bool> readsSources(graph.ops.size());
  for (size_t op = 0; op < graph.ops.size(); ++op)
    readsSources[op] = isSource(graph, OpId(op)) ||
                       (!leaders[op] && llvm::all_of(graph.ops[op].operands, [&](std::optional<ValueId> operand) {
                         return !operand || readsSources[graph.value(*operand).producer.index()];
                       }));
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  int64_t most = graph.microBatches();
  for (size_t op = graph.ops.size(); op-- > 0;) {
    if (!readsSources[op] || isSource(graph, OpId(op)) || parts[op] != StagePart::Forward)
      continue;
    bool isRepeated = most > 1 && graph.ops[op].repeats == most;
    std::optional<StagePart> first;
    for (std::optional<ValueId> result : graph.ops[op].results)
      for (OpGraph::Use use : result ? uses[result->index()] : std::vector<OpGraph::Use>())
        if (StagePart part = parts[use.op.index()]; !isRepeated || part != StagePart::Update)
          first = std::min(first.value_or(StagePart::Update), part);
    parts[op] = first.value_or(StagePart::Forward);
  }
}

std::vector<StagePart> passesOf(const OpGraph &graph, llvm::ArrayRef<std::optional<OpId>> leaders) {
  std::vector<StagePart> parts(graph.ops.size(), StagePart::Update);
  std::vector<bool> follows = graph.followers();
  int64_t most = graph.microBatches();
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const GraphOp &op = graph.ops[index];
    if (isSource(graph, OpId(index)))
      continue;
    StagePart last = StagePart::Forward;
    for (std::optional<ValueId> operand : op.operands)
      if (operand && !isSource(graph, graph.value(*operand).producer))
        last = std::max(last, parts[graph.value(*operand).producer.index()]);
    bool isTiedToForward =
        !isLedByUpdate(graph, OpId(index), leaders) && parts[leaders[index]->index()] == StagePart::Forward;
    if (op.results.empty())
      parts[index] = last;
    else if (last == StagePart::Update || op.repeats < most)
      parts[index] = StagePart::Update;
    else if (!follows[index] && last == StagePart::Forward)
      parts[index] = StagePart::Forward;
    else if (isTiedToForward || makesGradient(graph, OpId(index)) || most > 1)
      parts[index] = StagePart::InputGradients;
  }
  moveToReaders(graph, leaders, parts);
  return parts;
}

} // namespace apc

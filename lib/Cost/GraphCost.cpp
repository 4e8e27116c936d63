// Costs the program that a choice of strategies stands for: ops and shared redistributions.
#include "apc/Cost/GraphCost.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// Adds the moves of one value: one for each distinct sharding that its users want and its producer does not give.
llvm::Error addMoves(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, ValueId id,
                     llvm::ArrayRef<OpGraph::Use> users, Redistributors &redistributors, GraphCost &cost) {
  const GraphValue &value = graph.value(id);
  Sharding produced =
      resultSharding(graph.ruleOf(value.producer), strategies[value.producer.index()], value.resultIndex);
  size_t first = cost.moves.size();
  for (OpGraph::Use use : users) {
    Sharding wanted = operandSharding(graph.ruleOf(use.op), strategies[use.op.index()], use.operand);
    if (wanted == produced)
      continue;
    auto known = llvm::find_if(llvm::drop_begin(cost.moves, first),
                               [&](const GraphMove &move) { return move.target == wanted; });
    if (known != cost.moves.end()) {
      known->users.push_back(use);
      continue;
    }
    auto redistribution = redistributors.of(value.shape).collectives(produced, wanted);
    if (!redistribution)
      return internalError("value '{0}' cannot become partial for op '{1}'", value.name, graph.op(use.op).name);
    cost.communicationSeconds += redistribution->seconds;
    for (const Collective &collective : redistribution->collectives)
      if (collective.kind != CollectiveKind::Slice)
        cost.communicationBytes[collective.kind] += std::max(collective.inputBytes, collective.outputBytes);
    cost.moves.push_back({{id}, std::move(wanted), {use}, std::move(*redistribution)});
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<GraphCost> costOfGraph(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies,
                                      const CostModel &model) {
  GraphCost cost;
  cost.ops.reserve(graph.ops.size());
  for (auto [op, strategy] : llvm::zip_equal(graph.ops, strategies)) {
    const FactorRule &rule = graph.rules[op.rule.index()];
    if (llvm::Error illegal = check(rule, strategy, model.getMesh()))
      return internalError("op '{0}': {1}", op.name, takeMessage(std::move(illegal)).second);
    cost.ops.push_back(model.opCost(rule, strategy, op.format));
    cost.computeSeconds += cost.ops.back().seconds();
    cost.flopsPerDevice += cost.ops.back().flops;
  }
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  Redistributors redistributors(model.getMesh(),
                                [&](const Collective &collective) { return model.collectiveSeconds(collective); });
  for (size_t v = 0; v < graph.values.size(); ++v)
    if (llvm::Error error = addMoves(graph, strategies, ValueId(v), uses[v], redistributors, cost))
      return error;
  cost.memory = graphMemory(graph, strategies, model, cost.moves);
  return cost;
}

} // namespace apc

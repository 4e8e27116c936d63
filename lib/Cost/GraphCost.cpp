// Costs the program that a choice of strategies stands for: ops and redistributions.
#include "apc/Cost/GraphCost.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// `cost` with one more move.
void addMove(GraphMove move, GraphCost &cost) {
  cost.communicationSeconds += move.redistribution.seconds;
  for (const Collective &collective : move.redistribution.collectives)
    if (collective.kind != CollectiveKind::Slice)
      cost.communicationBytes[collective.kind] += move.repeats * exchangedBytes(collective);
  cost.moves.push_back(std::move(move));
}

} // namespace

std::vector<ValueHub> GraphCost::hubsOfComeAgain() const {
  std::vector<ValueHub> hubs;
  for (ValueId value : comeAgain)
    hubs.push_back({value, std::nullopt, /*again=*/true});
  return hubs;
}

int64_t GraphCost::numCollectives() const {
  int64_t count = 0;
  for (const GraphMove &move : moves)
    for (const Collective &collective : move.redistribution.collectives)
      count += move.repeats * numExchanges(collective);
  return count;
}

OpCost costOfOp(const OpGraph &graph, OpId op, const Strategy &strategy, const CostModel &model) {
  if (graph.op(op).atLoad)
    return OpCost();
  return model.opCost(graph.ruleOf(op), strategy, graph.op(op).format).times(graph.op(op).repeats);
}

llvm::Expected<GraphCost> costOfGraph(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                                      llvm::ArrayRef<ValueHub> hubs) {
  GraphCost cost;
  cost.ops.reserve(graph.ops.size());
  for (auto [index, strategy] : llvm::enumerate(strategies)) {
    OpId op(index);
    if (llvm::Error illegal = check(graph.ruleOf(op), strategy, model.getMesh()))
      return internalError("op '{0}': {1}", graph.op(op).name, takeMessage(std::move(illegal)).second);
    cost.ops.push_back(costOfOp(graph, op, strategy, model));
    cost.computeSeconds += cost.ops.back().seconds();
    cost.flopsPerDevice += cost.ops.back().flops;
  }
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  Redistributors redistributors(model.getMesh(),
                                [&](const Collective &collective) { return model.collectiveSeconds(collective); });
  std::vector<const ValueHub *> suggested(graph.values.size());
  for (const ValueHub &hub : hubs)
    suggested[hub.value.index()] = &hub;
  PassUses passes(graph);
  for (auto [v, value] : llvm::enumerate(graph.values)) {
    auto strategyOf = [&](OpId op) -> const Strategy & { return strategies[op.index()]; };
    ValueHub hub = suggested[v] ? *suggested[v] : ValueHub{ValueId(v), std::nullopt};
    auto moves =
        movesByPass(graph, passes, uses[v], strategyOf, redistributors.of(value.shape), hub, cost.moves.size());
    if (!moves)
      return internalError("value '{0}' cannot become partial for its users", value.name);
    if (hub.again && llvm::any_of(*moves, [](const GraphMove &move) { return move.redistribution.seconds > 0; }))
      cost.comeAgain.emplace_back(v);
    for (GraphMove &move : *moves)
      addMove(std::move(move), cost);
  }
  StepPeak peak = graphMemory(graph, strategies, model, cost.moves);
  cost.memory = peak.memory;
  cost.fullestOp = OpId(peak.op);
  return cost;
}

} // namespace apc

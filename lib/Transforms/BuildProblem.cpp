// The problem of one graph on one mesh: tables shared by equal ops and equal edges.
#include "apc/Transforms/BuildProblem.h"

#include "apc/Sharding/RedistributionSeconds.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <tuple>

namespace apc {

namespace {

class ProblemBuilder {
public:
  ProblemBuilder(const OpGraph &graph, const CostModel &model, llvm::function_ref<bool(OpId, const Strategy &)> keep)
      : graph(graph), model(model), keep(keep),
        moves(model.getMesh(), [&model](const Step &step) { return model.stepSeconds(step); }) {}

  PlanningProblem build();

private:
  NodeTableId nodeTable(OpId id);
  /// An op's candidates. Those of inputs and parameters come smallest first: to keep the whole and cut it at use is as
  /// fast as to keep what is used, and the search breaks ties by index.
  std::vector<Strategy> offer(const GraphOp &op, const FactorRule &rule) const;
  StrategyCost cost(const GraphOp &op, const Strategy &strategy) const;
  PairTableId pairTable(const GraphValue &value, NodeTableId from, OpGraph::Use use, NodeTableId to);
  llvm::ArrayRef<Sharding> column(NodeTableId table, const FactorRule &rule, bool isResult, unsigned index);

  const OpGraph &graph;
  const CostModel &model;
  llvm::function_ref<bool(OpId, const Strategy &)> keep;
  PlanningProblem planning;
  std::map<RuleId, std::vector<Strategy>> enumerated;
  std::map<std::tuple<RuleId, NumberFormat, bool, std::vector<bool>>, NodeTableId> nodeTables;
  std::map<std::tuple<NodeTableId, unsigned, NodeTableId, unsigned>, PairTableId> pairTables;
  std::map<std::tuple<NodeTableId, bool, unsigned>, std::vector<Sharding>> columns;
  RedistributionSeconds moves;
};

bool producesParameter(const OpGraph &graph, const GraphOp &op) {
  return op.results.size() == 1 && op.results[0] && graph.value(*op.results[0]).role == ValueRole::Parameter;
}

/// What a strategy does with each axis, as `NodeTable::axes` has it: factors first, then groups of `linear` operands.
std::vector<uint32_t> axisDigits(const Strategy &strategy, size_t numAxes) {
  std::vector<uint32_t> digits(numAxes, 0);
  uint32_t digit = 0;
  for (const auto &lists : {llvm::ArrayRef<AxisList>(strategy.axes), llvm::ArrayRef<AxisList>(strategy.passing)})
    for (const AxisList &list : lists) {
      ++digit;
      for (AxisId axis : list)
        digits[axis.index()] = digit;
    }
  return digits;
}

StrategyCost ProblemBuilder::cost(const GraphOp &op, const Strategy &strategy) const {
  const FactorRule &rule = graph.rules[op.rule.index()];
  StrategyCost cost;
  cost.seconds = model.opPrice(rule, strategy, op.format).seconds();
  for (auto [index, value] : llvm::enumerate(op.results)) {
    if (!value)
      continue;
    int64_t bytes = model.localBytes(graph.value(*value).shape, resultSharding(rule, strategy, index));
    (graph.value(*value).role == ValueRole::Parameter ? cost.persistentBytes : cost.transientBytes) += bytes;
  }
  if (rule.work == Work::View)
    return cost;
  for (auto [index, value] : llvm::enumerate(op.operands))
    if (value && graph.value(*value).role != ValueRole::Parameter)
      cost.transientBytes += model.localBytes(graph.value(*value).shape, operandSharding(rule, strategy, index));
  return cost;
}

std::vector<Strategy> ProblemBuilder::offer(const GraphOp &op, const FactorRule &rule) const {
  std::vector<Strategy> strategies = enumerateStrategies(rule, model.getMesh());
  if (!op.operands.empty())
    return strategies;
  auto bytes = [&](const Strategy &strategy) {
    return model.localBytes(rule.resultShape(0), resultSharding(rule, strategy, 0));
  };
  llvm::stable_sort(strategies, [&](const Strategy &a, const Strategy &b) { return bytes(a) < bytes(b); });
  return strategies;
}

NodeTableId ProblemBuilder::nodeTable(OpId id) {
  const GraphOp &op = graph.op(id);
  const FactorRule &rule = graph.ruleOf(id);
  auto [offered, isNew] = enumerated.try_emplace(op.rule);
  if (isNew)
    offered->second = offer(op, rule);
  // Ops of one rule share a table when the filter treats them alike; without one, nothing is listed.
  std::vector<bool> kept;
  if (keep)
    for (const Strategy &strategy : offered->second)
      kept.push_back(keep(id, strategy));
  auto [entry, isNewTable] = nodeTables.try_emplace({op.rule, op.format, producesParameter(graph, op), kept});
  if (!isNewTable)
    return entry->second;
  std::vector<Strategy> strategies;
  strategies.reserve(offered->second.size());
  for (auto [index, strategy] : llvm::enumerate(offered->second))
    if (!keep || kept[index])
      strategies.push_back(strategy);
  NodeTable table;
  for (const Strategy &strategy : strategies) {
    table.names.push_back(strategy.str(rule, model.getMesh()));
    table.costs.push_back(cost(op, strategy));
    table.axes.push_back(axisDigits(strategy, model.getMesh().numAxes()));
  }
  entry->second = planning.problem.addNodeTable(std::move(table));
  planning.strategies.push_back(std::move(strategies));
  return entry->second;
}

llvm::ArrayRef<Sharding> ProblemBuilder::column(NodeTableId table, const FactorRule &rule, bool isResult,
                                                unsigned index) {
  auto [entry, isNew] = columns.try_emplace({table, isResult, index});
  if (isNew)
    for (const Strategy &strategy : planning.strategies[table.index()])
      entry->second.push_back(isResult ? resultSharding(rule, strategy, index)
                                       : operandSharding(rule, strategy, index));
  return entry->second;
}

PairTableId ProblemBuilder::pairTable(const GraphValue &value, NodeTableId from, OpGraph::Use use, NodeTableId to) {
  auto key = std::make_tuple(from, value.resultIndex, to, use.operand);
  if (auto known = pairTables.find(key); known != pairTables.end())
    return known->second;
  llvm::ArrayRef<Sharding> given = column(from, graph.ruleOf(value.producer), true, value.resultIndex);
  llvm::ArrayRef<Sharding> wanted = column(to, graph.ruleOf(use.op), false, use.operand);
  PairTable table(given.size(), wanted.size());
  moves.between(value.shape, given, wanted, [&](size_t row, RedistributionSeconds::Row seconds) {
    for (size_t column = 0; column < seconds.size(); ++column)
      table.set(row, column, seconds[column]);
  });
  PairTableId result = planning.problem.addPairTable(std::move(table));
  pairTables.emplace(key, result);
  return result;
}

PlanningProblem ProblemBuilder::build() {
  Problem &problem = planning.problem;
  for (size_t op = 0; op < graph.ops.size(); ++op)
    problem.addNode(graph.ops[op].name, nodeTable(OpId(op)));
  for (auto [op, node] : llvm::zip_equal(graph.ops, problem.nodes))
    node.priority = op.operands.empty() ? 2 : graph.rules[op.rule.index()].work == Work::Contraction ? 1 : 0;
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  for (auto [v, value] : llvm::enumerate(graph.values)) {
    NodeId from(value.producer.index());
    for (OpGraph::Use use : uses[v]) {
      NodeId to(use.op.index());
      NodeTableId fromTable = problem.nodes[from.index()].table, toTable = problem.nodes[to.index()].table;
      problem.addEdge(from, to, pairTable(value, fromTable, use, toTable));
    }
  }
  return std::move(planning);
}

} // namespace

std::vector<Strategy> PlanningProblem::decode(const Assignment &assignment) const {
  std::vector<Strategy> chosen;
  for (size_t op = 0; op < problem.nodes.size(); ++op)
    chosen.push_back(strategiesOf(OpId(op))[assignment.strategies[op]]);
  return chosen;
}

PlanningProblem buildProblem(const OpGraph &graph, const CostModel &model,
                             llvm::function_ref<bool(OpId, const Strategy &)> keep) {
  return ProblemBuilder(graph, model, keep).build();
}

} // namespace apc

// The problem of one graph on one mesh: tables shared by equal nodes and equal edges.
#include "apc/Planning/BuildProblem.h"

#include "apc/Sharding/RedistributionSeconds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"

#include <map>
#include <tuple>

namespace apc {

namespace {

using Filter = llvm::function_ref<bool(OpId, const Strategy &)>;

/// A value that one op of a node makes and another op of the same node reads; ops by their position in the node.
struct InnerUse {
  unsigned producer, result, user, operand;

  friend auto operator<=>(const InnerUse &, const InnerUse &) = default;
};

/// Everything that the table of a node depends on: equal nodes share one table.
struct NodeKey {
  std::vector<std::tuple<RuleId, NumberFormat, bool>> ops; ///< the flag: makes a parameter
  std::vector<InnerUse> inner;
  std::vector<bool> kept; ///< strategies of the leading op that the filter leaves; empty without a filter

  friend auto operator<=>(const NodeKey &, const NodeKey &) = default;
};

bool producesParameter(const OpGraph &graph, const GraphOp &op) {
  return op.results.size() == 1 && op.results[0] && graph.value(*op.results[0]).role == ValueRole::Parameter;
}

/// The axes of a strategy's factors and groups of linear operands, as `NodeTable::axes` has them: factors first.
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

/// The strategy of an op that follows another: its factors are cut like those of the same name; none where that is
/// illegal.
std::optional<Strategy> followed(const FactorRule &leader, const Strategy &strategy, const FactorRule &follower,
                                 const Mesh &mesh) {
  Strategy own;
  own.partialInputs.resize(follower.linear.size());
  for (const Factor &factor : follower.factors) {
    const auto *found = llvm::find_if(leader.factors, [&](const Factor &known) { return known.name == factor.name; });
    own.axes.push_back(found == leader.factors.end() ? AxisList() : strategy.axes[found - leader.factors.begin()]);
  }
  if (llvm::Error illegal = check(follower, own, mesh)) {
    llvm::consumeError(std::move(illegal));
    return std::nullopt;
  }
  return own;
}

class ProblemBuilder {
public:
  ProblemBuilder(const OpGraph &graph, const CostModel &model, Filter keep)
      : graph(graph), model(model), keep(keep), uses(graph.uses()), positions(graph.ops.size()),
        moves(model.getMesh(), [&model](const Collective &collective) { return model.collectiveSeconds(collective); }) {
  }

  PlanningProblem build();

private:
  void formNodes();
  void addNode(std::vector<OpId> ops);
  NodeTableId nodeTable(NodeId node);
  NodeKey keyOf(NodeId node, llvm::ArrayRef<Strategy> offered) const;
  std::vector<InnerUse> innerUses(NodeId node) const;
  llvm::ArrayRef<Strategy> offered(OpId op);
  std::vector<Choice> choicesOf(NodeId node, llvm::ArrayRef<Strategy> offered, const NodeKey &key) const;
  StrategyCost cost(const GraphOp &op, const Strategy &strategy) const;
  /// None where a value cannot get from one op of the node to another.
  std::optional<StrategyCost> cost(NodeId node, const Choice &choice, llvm::ArrayRef<InnerUse> inner);
  std::optional<double> moveSeconds(const TensorShape &shape, const Sharding &from, const Sharding &to);
  PairTableId pairTable(const GraphValue &value, OpGraph::Use use);
  llvm::ArrayRef<Sharding> column(OpId op, bool isResult, unsigned index);

  const OpGraph &graph;
  const CostModel &model;
  Filter keep;
  std::vector<std::vector<OpGraph::Use>> uses;
  std::vector<unsigned> positions; ///< of each op in its node
  PlanningProblem planning;
  std::map<RuleId, std::vector<Strategy>> enumerated;
  std::map<NodeKey, NodeTableId> nodeTables;
  /// (table of the producer, its op and result, table of the user, its op and operand).
  std::map<std::tuple<NodeTableId, unsigned, unsigned, NodeTableId, unsigned, unsigned>, PairTableId> pairTables;
  std::map<std::tuple<NodeTableId, unsigned, bool, unsigned>, std::vector<Sharding>> columns;
  RedistributionSeconds moves;
};

StrategyCost ProblemBuilder::cost(const GraphOp &op, const Strategy &strategy) const {
  const FactorRule &rule = graph.rules[op.rule.index()];
  StrategyCost cost;
  cost.seconds = model.opCost(rule, strategy, op.format).seconds();
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

std::optional<double> ProblemBuilder::moveSeconds(const TensorShape &shape, const Sharding &from, const Sharding &to) {
  std::optional<double> found;
  moves.between(shape, from, to, [&](size_t, RedistributionSeconds::Row seconds) { found = seconds[0]; });
  return found;
}

std::optional<StrategyCost> ProblemBuilder::cost(NodeId node, const Choice &choice, llvm::ArrayRef<InnerUse> inner) {
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  StrategyCost sum;
  for (auto [op, strategy] : llvm::zip_equal(ops, choice.strategies)) {
    StrategyCost own = cost(graph.op(op), strategy);
    sum.seconds += own.seconds;
    sum.persistentBytes += own.persistentBytes;
    sum.transientBytes = std::max(sum.transientBytes, own.transientBytes);
  }
  for (const InnerUse &use : inner) {
    OpId from = ops[use.producer], to = ops[use.user];
    std::optional<double> seconds =
        moveSeconds(graph.value(*graph.op(from).results[use.result]).shape,
                    resultSharding(graph.ruleOf(from), choice.strategies[use.producer], use.result),
                    operandSharding(graph.ruleOf(to), choice.strategies[use.user], use.operand));
    if (!seconds)
      return std::nullopt;
    sum.seconds += *seconds;
  }
  return sum;
}

/// Candidates of an op. For inputs and parameters the smallest come first: to keep the whole tensor and cut it at its
/// use is as fast as to keep the piece that is used, and the search breaks ties by index.
llvm::ArrayRef<Strategy> ProblemBuilder::offered(OpId op) {
  const FactorRule &rule = graph.ruleOf(op);
  auto [entry, isNew] = enumerated.try_emplace(graph.op(op).rule);
  if (!isNew)
    return entry->second;
  entry->second = enumerateStrategies(rule, model.getMesh());
  auto bytes = [&](const Strategy &strategy) {
    return model.localBytes(rule.resultShape(0), resultSharding(rule, strategy, 0));
  };
  if (graph.op(op).operands.empty())
    llvm::stable_sort(entry->second, [&](const Strategy &a, const Strategy &b) { return bytes(a) < bytes(b); });
  return entry->second;
}

std::vector<InnerUse> ProblemBuilder::innerUses(NodeId node) const {
  std::vector<InnerUse> inner;
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  if (ops.size() == 1)
    return inner;
  for (auto [position, op] : llvm::enumerate(ops))
    for (auto [result, value] : llvm::enumerate(graph.op(op).results))
      if (value)
        for (OpGraph::Use use : uses[value->index()])
          if (planning.nodeOf(use.op) == node)
            inner.push_back({static_cast<unsigned>(position), static_cast<unsigned>(result), positions[use.op.index()],
                             use.operand});
  return inner;
}

NodeKey ProblemBuilder::keyOf(NodeId node, llvm::ArrayRef<Strategy> offered) const {
  NodeKey key;
  for (OpId op : planning.opsOf(node))
    key.ops.emplace_back(graph.op(op).rule, graph.op(op).format, producesParameter(graph, graph.op(op)));
  key.inner = innerUses(node);
  // Nodes of equal ops share a table when the filter treats their strategies alike; without one, nothing is listed.
  if (keep)
    for (const Strategy &strategy : offered)
      key.kept.push_back(keep(planning.opsOf(node).front(), strategy));
  return key;
}

std::vector<Choice> ProblemBuilder::choicesOf(NodeId node, llvm::ArrayRef<Strategy> offered, const NodeKey &key) const {
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  std::vector<Choice> choices;
  choices.reserve(offered.size());
  for (auto [index, strategy] : llvm::enumerate(offered)) {
    if (keep && !key.kept[index])
      continue;
    Choice choice{{strategy}};
    for (OpId op : ops.drop_front()) {
      std::optional<Strategy> own = followed(graph.ruleOf(ops.front()), strategy, graph.ruleOf(op), model.getMesh());
      if (!own || (keep && !keep(op, *own)))
        break;
      choice.strategies.push_back(std::move(*own));
    }
    if (choice.strategies.size() == ops.size())
      choices.push_back(std::move(choice));
  }
  return choices;
}

NodeTableId ProblemBuilder::nodeTable(NodeId node) {
  OpId leader = planning.opsOf(node).front();
  llvm::ArrayRef<Strategy> strategies = offered(leader);
  NodeKey key = keyOf(node, strategies);
  auto [entry, isNew] = nodeTables.try_emplace(key);
  if (!isNew)
    return entry->second;
  NodeTable table;
  std::vector<Choice> possible;
  for (Choice &choice : choicesOf(node, strategies, key)) {
    std::optional<StrategyCost> own = cost(node, choice, key.inner);
    if (!own)
      continue;
    const Strategy &leading = choice.strategies.front();
    table.names.push_back(leading.str(graph.ruleOf(leader), model.getMesh()));
    table.costs.push_back(*own);
    table.axes.push_back(axisDigits(leading, model.getMesh().numAxes()));
    possible.push_back(std::move(choice));
  }
  entry->second = planning.problem.addNodeTable(std::move(table));
  planning.choices.push_back(std::move(possible));
  return entry->second;
}

/// The shardings of one operand or result of an op, by choice of its node.
llvm::ArrayRef<Sharding> ProblemBuilder::column(OpId op, bool isResult, unsigned index) {
  NodeId node = planning.nodeOf(op);
  unsigned position = positions[op.index()];
  auto [entry, isNew] = columns.try_emplace({planning.problem.nodes[node.index()].table, position, isResult, index});
  const FactorRule &rule = graph.ruleOf(op);
  if (isNew)
    for (const Choice &choice : planning.choicesOf(node)) {
      const Strategy &strategy = choice.strategies[position];
      entry->second.push_back(isResult ? resultSharding(rule, strategy, index)
                                       : operandSharding(rule, strategy, index));
    }
  return entry->second;
}

PairTableId ProblemBuilder::pairTable(const GraphValue &value, OpGraph::Use use) {
  auto tableOf = [&](OpId op) { return planning.problem.nodes[planning.nodeOf(op).index()].table; };
  auto key = std::make_tuple(tableOf(value.producer), positions[value.producer.index()], value.resultIndex,
                             tableOf(use.op), positions[use.op.index()], use.operand);
  if (auto known = pairTables.find(key); known != pairTables.end())
    return known->second;
  llvm::ArrayRef<Sharding> given = column(value.producer, true, value.resultIndex);
  llvm::ArrayRef<Sharding> wanted = column(use.op, false, use.operand);
  PairTable table(given.size(), wanted.size());
  moves.between(value.shape, given, wanted, [&](size_t row, RedistributionSeconds::Row seconds) {
    for (size_t column = 0; column < seconds.size(); ++column)
      table.set(row, column, seconds[column]);
  });
  PairTableId result = planning.problem.addPairTable(std::move(table));
  pairTables.emplace(key, result);
  return result;
}

void ProblemBuilder::addNode(std::vector<OpId> ops) {
  NodeId node(planning.ops.size());
  for (auto [position, op] : llvm::enumerate(ops)) {
    planning.nodes[op.index()] = node;
    positions[op.index()] = static_cast<unsigned>(position);
  }
  planning.ops.push_back(std::move(ops));
}

/// One node for each op, in the order of the ops; tied ops stand where their leader does.
void ProblemBuilder::formNodes() {
  planning.nodes.resize(graph.ops.size());
  std::vector<const TiedOps *> tieOf(graph.ops.size());
  for (const TiedOps &tie : graph.ties)
    for (OpId op : tie)
      tieOf[op.index()] = &tie;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const TiedOps *tie = tieOf[index];
    if (!tie)
      addNode({OpId(index)});
    else if (tie->front() == OpId(index))
      addNode(*tie);
  }
}

PlanningProblem ProblemBuilder::build() {
  formNodes();
  Problem &problem = planning.problem;
  for (size_t node = 0; node < planning.ops.size(); ++node) {
    const GraphOp &leader = graph.op(planning.ops[node].front());
    problem.addNode(leader.name, nodeTable(NodeId(node)));
    problem.nodes.back().priority = leader.operands.empty()                                      ? 2
                                    : graph.rules[leader.rule.index()].work == Work::Contraction ? 1
                                                                                                 : 0;
  }
  for (auto [v, value] : llvm::enumerate(graph.values))
    for (OpGraph::Use use : uses[v]) {
      NodeId from = planning.nodeOf(value.producer), to = planning.nodeOf(use.op);
      if (from != to)
        problem.addEdge(from, to, pairTable(value, use));
    }
  return std::move(planning);
}

} // namespace

const Strategy &PlanningProblem::strategyOf(OpId op, size_t choice) const {
  NodeId node = nodeOf(op);
  size_t position = llvm::find(opsOf(node), op) - opsOf(node).begin();
  return choicesOf(node)[choice].strategies[position];
}

std::optional<size_t> PlanningProblem::findChoice(NodeId node, llvm::ArrayRef<Strategy> strategies) const {
  auto isTaken = [&](const Choice &choice) {
    return llvm::all_of(llvm::zip_equal(opsOf(node), choice.strategies), [&](const auto &entry) {
      return strategies[std::get<0>(entry).index()] == std::get<1>(entry);
    });
  };
  llvm::ArrayRef<Choice> offered = choicesOf(node);
  const Choice *found = llvm::find_if(offered, isTaken);
  return found == offered.end() ? std::nullopt : std::optional<size_t>(found - offered.begin());
}

std::vector<Strategy> PlanningProblem::decode(const Assignment &assignment) const {
  std::vector<Strategy> chosen(nodes.size());
  for (size_t node = 0; node < ops.size(); ++node)
    for (auto [op, strategy] :
         llvm::zip_equal(ops[node], choicesOf(NodeId(node))[assignment.strategies[node]].strategies))
      chosen[op.index()] = strategy;
  return chosen;
}

PlanningProblem buildProblem(const OpGraph &graph, const CostModel &model, Filter keep) {
  return ProblemBuilder(graph, model, keep).build();
}

} // namespace apc

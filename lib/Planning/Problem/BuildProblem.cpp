// The problem of one graph on one mesh: tables shared by equal nodes and equal edges.
#include "Grouping.h"
#include "LayoutProblem.h"
#include "ProblemBuilder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"

#include <utility>

namespace apc {

std::optional<double> ProblemBuilder::moveSeconds(ValueId value, const Sharding &from, const Sharding &to) {
  std::optional<double> found;
  movesOf(fusion.group(value)).between(graph.value(value).shape, from, to, [&](size_t, RedistributionSeconds::Row row) {
    found = row[0];
  });
  return found;
}

llvm::SmallVector<llvm::ArrayRef<InnerUse>, 4> waysOf(llvm::ArrayRef<InnerUse> inner) {
  llvm::SmallVector<llvm::ArrayRef<InnerUse>, 4> ways;
  while (!inner.empty()) {
    ways.push_back(inner.take_while([&](const InnerUse &use) { return use.way == inner.front().way; }));
    inner = inner.drop_front(ways.back().size());
  }
  return ways;
}

std::optional<WaySeconds> ProblemBuilder::waySeconds(NodeId node, const Choice &choice, llvm::ArrayRef<InnerUse> way) {
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  const InnerUse &first = way.front();
  ValueId value = *graph.op(ops[first.producer]).results[first.result];
  Sharding produced =
      resultSharding(graph.ruleOf(ops[first.producer]), choice.strategies[first.producer], first.result);
  std::vector<Sharding> hubs{produced}, wanted;
  double direct = 0;
  for (const InnerUse &use : way) {
    Sharding own = operandSharding(graph.ruleOf(ops[use.user]), choice.strategies[use.user], use.operand);
    if (!llvm::is_contained(hubs, own))
      hubs.push_back(own);
    std::optional<double> seconds = moveSeconds(value, produced, own);
    if (!seconds)
      return std::nullopt;
    direct = std::max(direct, use.isExposed ? *seconds : 0);
    // An op that reads the value twice reads one copy.
    bool isThere = !wanted.empty() && (&use - 1)->user == use.user && wanted.back() == own;
    if (!isThere)
      wanted.push_back(std::move(own));
  }
  std::optional<double> least;
  for (const Sharding &hub : hubs) {
    std::optional<double> sum = moveSeconds(value, produced, hub);
    for (const Sharding &own : wanted) {
      std::optional<double> seconds = moveSeconds(value, hub, own);
      sum = sum && seconds ? std::optional(*sum + *seconds) : std::nullopt;
    }
    if (sum && (!least || *sum < *least))
      least = sum;
  }
  auto repeats = static_cast<double>(graph.op(ops[first.user]).repeats);
  return WaySeconds{repeats * *least, repeats * std::min(direct, *least)};
}

std::optional<std::pair<StrategyCost, RowSeconds>> ProblemBuilder::cost(NodeId node, const Choice &choice,
                                                                        llvm::ArrayRef<InnerUse> inner) {
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  StrategyCost sum;
  RowSeconds parts;
  for (auto [op, strategy] : llvm::zip_equal(ops, choice.strategies)) {
    StrategyCost own = opCosts.cost(op, strategy);
    sum.seconds += own.seconds;
    sum.persistentBytes += own.persistentBytes;
    sum.transientBytes = std::max(sum.transientBytes, own.transientBytes);
    (covers(op) ? parts.covering : parts.compute) += own.seconds;
  }
  for (llvm::ArrayRef<InnerUse> way : waysOf(inner)) {
    auto own = waySeconds(node, choice, way);
    if (!own)
      return std::nullopt;
    sum.seconds += own->all;
    parts.exposed += own->exposed;
    parts.hideable += own->all - own->exposed;
  }
  return std::pair(sum, parts);
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

/// The users in the node of a result of one of its ops: those of every micro-batch share their moves, each other op has
/// its own (`movesOf`).
void ProblemBuilder::addInnerUses(NodeId node, unsigned position, unsigned result, std::vector<InnerUse> &inner) const {
  ValueId value = *graph.op(planning.opsOf(node)[position]).results[result];
  int64_t most = mostRepeats(graph, uses[value.index()]);
  unsigned shared = inner.empty() ? 0 : inner.back().way + 1, next = shared;
  std::vector<InnerUse> once;
  for (OpGraph::Use use : uses[value.index()]) {
    if (planning.nodeOf(use.op) != node)
      continue;
    InnerUse own{shared, position, result, positions[use.op.index()], use.operand, fusion.group(value), isExposed(use)};
    if (graph.op(use.op).repeats == most) {
      inner.push_back(own);
      continue;
    }
    bool isSameOp = !once.empty() && once.back().user == own.user;
    own.way = isSameOp ? next : ++next;
    once.push_back(own);
  }
  llvm::append_range(inner, once);
}

std::vector<InnerUse> ProblemBuilder::innerUses(NodeId node) const {
  std::vector<InnerUse> inner;
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  if (ops.size() == 1)
    return inner;
  for (auto [position, op] : llvm::enumerate(ops))
    for (auto [result, value] : llvm::enumerate(graph.op(op).results))
      if (value)
        addInnerUses(node, static_cast<unsigned>(position), static_cast<unsigned>(result), inner);
  return inner;
}

std::pair<NodeKey, const std::vector<Choice> *> ProblemBuilder::keyOf(NodeId node) {
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  NodeKey key;
  key.ops.reserve(ops.size());
  for (OpId op : ops)
    key.ops.push_back(opCosts.keyOf(op));
  for (OpId op : ops)
    key.covers.push_back(covers(op));
  key.inner = innerUses(node);
  // Nodes of equal ops share a table when the filter treats their strategies alike; without one, nothing is listed.
  if (keep)
    for (const Strategy &strategy : offered(ops.front()))
      key.leading.push_back(keep(ops.front(), strategy));
  const std::vector<Choice> &own = choicesOf(node, key.leading);
  if (keep)
    for (const Choice &choice : own)
      key.kept.push_back(followersKeep(ops, choice));
  return {std::move(key), &own};
}

bool ProblemBuilder::followersKeep(llvm::ArrayRef<OpId> ops, const Choice &choice) const {
  return llvm::all_of(llvm::zip_equal(ops.drop_front(), llvm::ArrayRef(choice.strategies).drop_front()),
                      [&](const auto &entry) { return keep(std::get<0>(entry), std::get<1>(entry)); });
}

const std::vector<Choice> &ProblemBuilder::choicesOf(NodeId node, const std::vector<bool> &leading) {
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  auto [entry, isNew] = choices.try_emplace({tiedKey(graph, ops), leading});
  std::vector<Choice> &own = entry->second;
  if (!isNew)
    return own;
  for (auto [index, strategy] : llvm::enumerate(offered(ops.front()))) {
    if (!leading.empty() && !leading[index])
      continue;
    std::optional<Choice> choice = followedByAll(graph, ops, strategy, model.getMesh());
    if (!choice)
      continue;
    std::vector<Choice> partial = withPartialSums(graph, ops, *choice, model.getMesh());
    own.push_back(std::move(*choice));
    llvm::move(partial, std::back_inserter(own));
  }
  return own;
}

NodeKind ProblemBuilder::kindOfNode(NodeId node) const {
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  NodeKind kind;
  kind.ops.reserve(ops.size());
  for (OpId op : ops) {
    kind.ops.push_back(opCosts.keyOf(op));
    kind.covers.push_back(covers(op));
    kind.kept.push_back(kindOf(op));
  }
  kind.inner = innerUses(node);
  kind.tied = tiedKey(graph, ops);
  return kind;
}

NodeTableId ProblemBuilder::nodeTable(NodeId node) {
  if (!kindOf)
    return newNodeTable(node);
  auto [entry, isNew] = tablesOfKinds.try_emplace(kindOfNode(node));
  if (isNew)
    entry->second = newNodeTable(node);
  return entry->second;
}

NodeTableId ProblemBuilder::newNodeTable(NodeId node) {
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  auto [ownKey, offeredChoices] = keyOf(node);
  auto [entry, isNew] = nodeTables.try_emplace(std::move(ownKey));
  if (!isNew)
    return entry->second;
  const NodeKey &key = entry->first;
  NodeTable table;
  std::vector<Choice> possible;
  std::vector<RowSeconds> &rows = planning.rows.emplace_back();
  for (auto [index, choice] : llvm::enumerate(*offeredChoices)) {
    auto own = key.kept.empty() || key.kept[index] ? cost(node, choice, key.inner) : std::nullopt;
    if (!own)
      continue;
    rows.push_back(own->second);
    const Strategy &leading = choice.strategies.front();
    table.names.push_back(leading.str(graph.ruleOf(ops.front()), model.getMesh()));
    table.costs.push_back(own->first);
    table.axes.push_back(axisDigits(leading, model.getMesh().numAxes()));
    for (AxisId axis : choice.passing) {
      table.names.back() += " partial:" + model.getMesh().getAxes()[axis.index()].name;
      table.axes.back()[axis.index()] += static_cast<uint32_t>(leading.axes.size() + leading.partialInputs.size() + 1);
    }
    possible.push_back(choice);
  }
  entry->second = planning.problem.addNodeTable(std::move(table));
  planning.choices.push_back(std::move(possible));
  return entry->second;
}

/// One node for each op, or for each group of tied ops.
void ProblemBuilder::formNodes() {
  planning.nodes.resize(graph.ops.size());
  planning.ops = opsDecidedTogether(graph);
  for (auto [node, ops] : llvm::enumerate(planning.ops))
    for (auto [position, op] : llvm::enumerate(ops)) {
      planning.nodes[op.index()] = NodeId(node);
      positions[op.index()] = static_cast<unsigned>(position);
    }
}

/// The nodes of ops in their order, each followed by the hubs of what it makes.
void ProblemBuilder::placeNodes(llvm::ArrayRef<std::optional<NodeTableId>> hubTables) {
  Problem &problem = planning.problem;
  std::vector<std::vector<OpId>> ops = std::exchange(planning.ops, {});
  for (std::vector<OpId> &own : ops) {
    const GraphOp &leader = graph.op(own.front());
    NodeId node = problem.addNode(leader.name, tableOf[own.front().index()]);
    problem.nodes.back().priority = leader.operands.empty()                                      ? 2
                                    : graph.rules[leader.rule.index()].work == Work::Contraction ? 1
                                                                                                 : 0;
    planning.ops.push_back(own);
    planning.hubs.emplace_back();
    for (OpId op : own) {
      planning.nodes[op.index()] = node;
      for (std::optional<ValueId> value : graph.op(op).results)
        if (value && hubTables[value->index()]) {
          problem.addNode("users of " + graph.value(*value).name, *hubTables[value->index()]);
          problem.nodes.back().isHub = true;
          planning.ops.emplace_back();
          planning.hubs.push_back(value);
        }
    }
  }
}

PlanningProblem ProblemBuilder::build() {
  addAllEdges([] { return false; });
  return std::move(planning);
}

std::optional<PlanningProblem> ProblemBuilder::buildPossible() {
  addAllEdges([&] { return isImpossible; });
  return isImpossible ? std::nullopt : std::optional(std::move(planning));
}

std::optional<PlanningProblem> ProblemBuilder::buildUntil(llvm::function_ref<bool()> isOver) {
  return addAllEdges(isOver) ? std::optional(std::move(planning)) : std::nullopt;
}

bool ProblemBuilder::addAllEdges(llvm::function_ref<bool()> isOver) {
  formNodes();
  tableOf.resize(graph.ops.size());
  for (size_t node = 0; node < planning.ops.size(); ++node) {
    if (isOver())
      return false;
    NodeTableId table = nodeTable(NodeId(node));
    for (OpId op : planning.ops[node])
      tableOf[op.index()] = table;
  }
  fillColumns();
  std::vector<std::vector<OpGraph::Use>> outer;
  std::vector<std::optional<NodeTableId>> tablesOfHubs;
  for (size_t value = 0; value < graph.values.size(); ++value) {
    outer.push_back(outerUses(ValueId(value)));
    bool pays = !storage.concerns(ValueId(value)); // else nothing that is paid for could be shared
    tablesOfHubs.push_back(pays ? hubTable(ValueId(value), sharingUses(graph, outer.back())) : std::nullopt);
  }
  countOriginalsOnce(graph, model.getMesh().numDevices(), moment, tablesOfHubs, planning.problem);
  placeNodes(tablesOfHubs);
  std::vector<std::optional<NodeId>> hubOf(graph.values.size());
  for (auto [node, value] : llvm::enumerate(planning.hubs))
    if (value)
      hubOf[value->index()] = NodeId(node);
  for (size_t value = 0; value < graph.values.size(); ++value) {
    if (isOver())
      return false;
    addEdges(ValueId(value), outer[value], hubOf[value], tablesOfHubs[value]);
  }
  return true;
}

PlanningProblem buildProblem(const OpGraph &graph, const CostModel &model,
                             llvm::function_ref<bool(OpId, const Strategy &)> keep, std::optional<int64_t> zero,
                             WeightCopies copies, const Fusion &fusion, std::optional<Moment> moment) {
  StorageLimit storage(graph, zero);
  return ProblemBuilder(graph, model, keep, storage, copies, fusion, moment).build();
}

std::optional<PlanningProblem> buildProblemUntil(llvm::function_ref<bool()> isOver, const OpGraph &graph,
                                                 const CostModel &model,
                                                 llvm::function_ref<bool(OpId, const Strategy &)> keep,
                                                 std::optional<int64_t> zero, WeightCopies copies, const Fusion &fusion,
                                                 std::optional<Moment> moment) {
  StorageLimit storage(graph, zero);
  return ProblemBuilder(graph, model, keep, storage, copies, fusion, moment).buildUntil(isOver);
}

PlanningProblem problemOfLayout(const OpGraph &graph, const CostModel &model, LayoutChoice choice, WeightCopies copies,
                                const Fusion &fusion, RedistributionSeconds &moves) {
  StorageLimit storage(graph, /*stage=*/{});
  return ProblemBuilder(graph, model, choice.keep, storage, copies, fusion, /*moment=*/{}, &moves, choice.kindOf,
                        choice.gathersAgain)
      .build();
}

std::optional<PlanningProblem> possibleProblemOfLayout(const OpGraph &graph, const CostModel &model,
                                                       LayoutChoice choice, WeightCopies copies, const Fusion &fusion,
                                                       RedistributionSeconds &moves) {
  StorageLimit storage(graph, /*stage=*/{});
  return ProblemBuilder(graph, model, choice.keep, storage, copies, fusion, /*moment=*/{}, &moves, choice.kindOf,
                        choice.gathersAgain)
      .buildPossible();
}

} // namespace apc

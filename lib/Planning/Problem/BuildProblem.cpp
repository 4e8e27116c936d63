// The problem of one graph on one mesh: tables shared by equal nodes and equal edges.
#include "Choices.h"
#include "OpCosts.h"
#include "ProblemKeys.h"

#include "apc/Planning/BuildProblem.h"
#include "apc/Planning/StorageLimit.h"

#include "apc/Sharding/RedistributionSeconds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"

#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace apc {

namespace {

using Filter = llvm::function_ref<bool(OpId, const Strategy &)>;

std::optional<double> withRepeats(std::optional<double> seconds, int64_t repeats) {
  return seconds ? std::optional(*seconds * static_cast<double>(repeats)) : std::nullopt;
}

class ProblemBuilder {
public:
  ProblemBuilder(const OpGraph &graph, const CostModel &model, Filter keep, const StorageLimit &storage,
                 WeightCopies copies, const Fusion &fusion, std::optional<Moment> moment)
      : graph(graph), model(model), keep(keep), storage(storage), copies(copies), moment(moment), passes(graph),
        uses(graph.uses()), opCosts(graph, model, moment), positions(graph.ops.size()), fusion(fusion),
        fused(fusion, model),
        alone(model.getMesh(), [&model](const Collective &each) { return model.collectiveSeconds(each); }) {
    for (unsigned group = 0; group < fusion.groupBytes.size(); ++group)
      together.emplace_back(model.getMesh(),
                            [this, group](const Collective &each) { return fused.leastSeconds(each, group); });
  }

  PlanningProblem build();

private:
  void formNodes();
  void addNode(std::vector<OpId> ops);
  NodeTableId nodeTable(NodeId node);
  NodeKey keyOf(NodeId node, llvm::ArrayRef<Strategy> offered) const;
  std::vector<InnerUse> innerUses(NodeId node) const;
  llvm::ArrayRef<Strategy> offered(OpId op);
  /// The choices of a node whose leader has this strategy, before the filter; none where that is illegal for others.
  std::vector<Choice> choicesBy(llvm::ArrayRef<OpId> ops, const Strategy &strategy) const;
  bool keepsAll(llvm::ArrayRef<OpId> ops, const Choice &choice) const;
  std::vector<Choice> choicesOf(NodeId node, llvm::ArrayRef<Strategy> offered) const;
  /// None where a value cannot get from one op of the node to another.
  std::optional<StrategyCost> cost(NodeId node, const Choice &choice, llvm::ArrayRef<InnerUse> inner);
  std::optional<double> moveSeconds(ValueId value, const Sharding &from, const Sharding &to);
  /// The seconds of a value of this group, or that moves alone.
  RedistributionSeconds &movesOf(std::optional<unsigned> group) { return group ? together[*group] : alone; }
  Side givenBy(const GraphValue &value) const;
  Side wantedBy(OpGraph::Use use) const;
  llvm::ArrayRef<Sharding> column(const Side &side) { return columns.at(side); }
  void fillColumns();
  bool mayPay(const GraphValue &value, OpGraph::Use use);
  std::vector<OpGraph::Use> outerUses(ValueId value) const;
  std::vector<OpGraph::Use> sharingUses(llvm::ArrayRef<OpGraph::Use> users) const;
  bool countsCopies(llvm::ArrayRef<OpGraph::Use> users) const;
  std::optional<NodeTableId> hubTable(ValueId id, llvm::ArrayRef<OpGraph::Use> users);
  void fillHub(const TensorShape &shape, llvm::ArrayRef<Side> sides, bool isAgain, bool countsCopy, NodeTable &table,
               std::vector<Choice> &choices);
  void placeNodes(llvm::ArrayRef<std::optional<NodeTableId>> hubTables);
  void addEdges(ValueId id, llvm::ArrayRef<OpGraph::Use> users, std::optional<NodeId> hub,
                std::optional<NodeTableId> hubTable);
  std::vector<bool> readAlike(const Side &wanted);
  int64_t timesOf(const Side &wanted, size_t choice) const;
  /// `use` is the user at the end of the edge, none for a hub.
  void addEdge(ValueId id, NodeId from, const Side &given, NodeId to, const Side &wanted, int64_t repeats,
               std::optional<OpGraph::Use> use = {});
  /// For each pair of choices of a parameter and its user: does the limit on storage allow it? Empty where it says
  /// nothing.
  std::vector<bool> allowedColumns(OpGraph::Use use, const Sharding &rest, const Side &wanted,
                                   RedistributionSeconds::Row seconds);

  const OpGraph &graph;
  const CostModel &model;
  Filter keep;
  const StorageLimit &storage;
  WeightCopies copies;
  std::optional<Moment> moment;
  PassUses passes;
  std::vector<std::vector<OpGraph::Use>> uses;
  OpCosts opCosts;
  std::vector<unsigned> positions;  ///< of each op in its node
  std::vector<NodeTableId> tableOf; ///< by op: the table of its node
  PlanningProblem planning;
  std::map<RuleId, std::vector<Strategy>> enumerated;
  std::map<NodeKey, NodeTableId> nodeTables;
  /// By what is given, what is wanted, and the group of the value.
  std::map<std::tuple<Side, Side, std::optional<unsigned>>, PairTableId> pairTables;
  std::map<std::pair<Side, Side>, bool> paid; ///< may the redistribution between two sides take time?
  /// By what is given, what is wanted, whether it may come again, and whether copies count.
  std::map<std::tuple<std::vector<Side>, bool, bool>, NodeTableId> hubTables;
  std::map<Side, std::vector<Sharding>> columns; ///< by choice
  const Fusion &fusion;
  FusedCosts fused;
  RedistributionSeconds alone;
  std::deque<RedistributionSeconds> together; ///< by group
};

std::optional<double> ProblemBuilder::moveSeconds(ValueId value, const Sharding &from, const Sharding &to) {
  std::optional<double> found;
  movesOf(fusion.group(value)).between(graph.value(value).shape, from, to, [&](size_t, RedistributionSeconds::Row row) {
    found = row[0];
  });
  return found;
}

std::optional<StrategyCost> ProblemBuilder::cost(NodeId node, const Choice &choice, llvm::ArrayRef<InnerUse> inner) {
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  StrategyCost sum;
  for (auto [op, strategy] : llvm::zip_equal(ops, choice.strategies)) {
    StrategyCost own = opCosts.cost(op, strategy);
    sum.seconds += own.seconds;
    sum.persistentBytes += own.persistentBytes;
    sum.transientBytes = std::max(sum.transientBytes, own.transientBytes);
  }
  for (const InnerUse &use : inner) {
    OpId from = ops[use.producer], to = ops[use.user];
    std::optional<double> seconds =
        moveSeconds(*graph.op(from).results[use.result],
                    resultSharding(graph.ruleOf(from), choice.strategies[use.producer], use.result),
                    operandSharding(graph.ruleOf(to), choice.strategies[use.user], use.operand));
    if (!seconds)
      return std::nullopt;
    sum.seconds += static_cast<double>(graph.op(to).repeats) * *seconds;
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
                             use.operand, fusion.group(*value)});
  return inner;
}

NodeKey ProblemBuilder::keyOf(NodeId node, llvm::ArrayRef<Strategy> offered) const {
  NodeKey key;
  for (OpId op : planning.opsOf(node))
    key.ops.push_back(opCosts.keyOf(op));
  key.inner = innerUses(node);
  // Nodes of equal ops share a table when the filter treats their strategies alike; without one, nothing is listed.
  if (!keep)
    return key;
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  for (const Strategy &strategy : offered)
    for (const Choice &choice : choicesBy(ops, strategy))
      key.kept.push_back(keepsAll(ops, choice));
  return key;
}

bool ProblemBuilder::keepsAll(llvm::ArrayRef<OpId> ops, const Choice &choice) const {
  return !keep || llvm::all_of(llvm::zip_equal(ops, choice.strategies),
                               [&](const auto &entry) { return keep(std::get<0>(entry), std::get<1>(entry)); });
}

std::vector<Choice> ProblemBuilder::choicesBy(llvm::ArrayRef<OpId> ops, const Strategy &strategy) const {
  std::optional<Choice> choice = followedByAll(graph, ops, strategy, model.getMesh());
  if (!choice)
    return {};
  std::vector<Choice> choices{*choice};
  llvm::append_range(choices, withPartialSums(graph, ops, *choice, model.getMesh()));
  return choices;
}

std::vector<Choice> ProblemBuilder::choicesOf(NodeId node, llvm::ArrayRef<Strategy> offered) const {
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  std::vector<Choice> choices;
  choices.reserve(offered.size());
  for (const Strategy &strategy : offered)
    llvm::copy_if(choicesBy(ops, strategy), std::back_inserter(choices),
                  [&](const Choice &choice) { return keepsAll(ops, choice); });
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
  for (Choice &choice : choicesOf(node, strategies)) {
    std::optional<StrategyCost> own = cost(node, choice, key.inner);
    if (!own)
      continue;
    const Strategy &leading = choice.strategies.front();
    table.names.push_back(leading.str(graph.ruleOf(leader), model.getMesh()));
    table.costs.push_back(*own);
    table.axes.push_back(axisDigits(leading, model.getMesh().numAxes()));
    for (AxisId axis : choice.passing) {
      table.names.back() += " partial:" + model.getMesh().getAxes()[axis.index()].name;
      table.axes.back()[axis.index()] += static_cast<uint32_t>(leading.axes.size() + leading.partialInputs.size() + 1);
    }
    possible.push_back(std::move(choice));
  }
  entry->second = planning.problem.addNodeTable(std::move(table));
  planning.choices.push_back(std::move(possible));
  return entry->second;
}

Side ProblemBuilder::givenBy(const GraphValue &value) const {
  return {tableOf[value.producer.index()], positions[value.producer.index()], true, value.resultIndex};
}

Side ProblemBuilder::wantedBy(OpGraph::Use use) const {
  Side side{tableOf[use.op.index()], positions[use.op.index()], false, use.operand};
  llvm::ArrayRef<std::optional<ValueId>> operands = graph.op(use.op).operands;
  for (unsigned operand = 0; operand < use.operand; ++operand)
    if (operands[operand] == operands[use.operand])
      side.earlier.push_back(operand);
  return side;
}

/// The shardings of all operands and results of ops.
void ProblemBuilder::fillColumns() {
  auto fill = [&](const Side &side, OpId op) {
    auto [entry, isNew] = columns.try_emplace(side);
    if (!isNew)
      return;
    const FactorRule &rule = graph.ruleOf(op);
    for (const Choice &choice : planning.choices[side.table.index()]) {
      const Strategy &strategy = choice.strategies[side.position];
      entry->second.push_back(side.isResult ? resultSharding(rule, strategy, side.index)
                                            : operandSharding(rule, strategy, side.index));
    }
  };
  for (auto [index, value] : llvm::enumerate(graph.values)) {
    fill(givenBy(value), value.producer);
    for (OpGraph::Use use : uses[index])
      fill(wantedBy(use), use.op);
  }
}

/// May the way from the producer to a user take time?
bool ProblemBuilder::mayPay(const GraphValue &value, OpGraph::Use use) {
  Side given = givenBy(value), wanted = wantedBy(use);
  auto [entry, isNew] = paid.try_emplace({given, wanted}, false);
  if (isNew)
    alone.between(value.shape, column(given), column(wanted), [&](size_t, RedistributionSeconds::Row seconds) {
      entry->second |= llvm::any_of(seconds, [](std::optional<double> cell) { return cell && *cell > 0; });
    });
  return entry->second;
}

std::vector<OpGraph::Use> ProblemBuilder::outerUses(ValueId value) const {
  NodeId producer = planning.nodeOf(graph.value(value).producer);
  std::vector<OpGraph::Use> outer;
  llvm::copy_if(uses[value.index()], std::back_inserter(outer),
                [&](OpGraph::Use use) { return planning.nodeOf(use.op) != producer; });
  return outer;
}

/// The users that may share a hub: those of every micro-batch, or all where there are none.
std::vector<OpGraph::Use> ProblemBuilder::sharingUses(llvm::ArrayRef<OpGraph::Use> users) const {
  int64_t most = mostRepeats(graph, users);
  std::vector<OpGraph::Use> sharing;
  llvm::copy_if(users, std::back_inserter(sharing), [&](OpGraph::Use use) { return graph.op(use.op).repeats == most; });
  return sharing;
}

/// Does the copy of a weight that both passes read count? It may be a piece of it that waits, or nothing, so that it is
/// never certain.
bool ProblemBuilder::countsCopies(llvm::ArrayRef<OpGraph::Use> users) const {
  return !moment || (!moment->isCertain && users.front().op < moment->op && moment->op < users.back().op);
}

/// A hub has the shardings that are given or wanted. None where at most one user may have to pay, who shares with
/// nobody.
std::optional<NodeTableId> ProblemBuilder::hubTable(ValueId id, llvm::ArrayRef<OpGraph::Use> users) {
  const GraphValue &value = graph.value(id);
  if (llvm::count_if(users, [&](OpGraph::Use use) { return mayPay(value, use); }) < 2)
    return std::nullopt;
  std::set<Side> wanted;
  for (OpGraph::Use use : users)
    wanted.insert(wantedBy(use));
  std::vector<Side> key{givenBy(value)};
  key.insert(key.end(), wanted.begin(), wanted.end());
  bool mayComeAgain = passes.mayComeAgain(id, users), countsCopy = mayComeAgain && countsCopies(users);
  auto [entry, isNew] = hubTables.try_emplace({key, mayComeAgain, countsCopy});
  if (!isNew)
    return entry->second;
  NodeTable table;
  std::vector<Choice> choices;
  if (mayComeAgain) // first, for what costs nothing need not be kept
    fillHub(value.shape, key, /*isAgain=*/true, /*countsCopy=*/false, table, choices);
  if (!mayComeAgain || copies == WeightCopies::Chosen)
    fillHub(value.shape, key, /*isAgain=*/false, countsCopy, table, choices);
  entry->second = planning.problem.addNodeTable(std::move(table));
  llvm::transform(choices, std::back_inserter(columns[{entry->second}]),
                  [](const Choice &choice) { return *choice.hub; });
  planning.choices.push_back(std::move(choices));
  return entry->second;
}

/// Adds a row for each sharding that is given or wanted. \p countsCopy: its copy waits for the backward pass.
void ProblemBuilder::fillHub(const TensorShape &shape, llvm::ArrayRef<Side> sides, bool isAgain, bool countsCopy,
                             NodeTable &table, std::vector<Choice> &choices) {
  std::set<Sharding> met;
  for (const Side &side : sides)
    for (const Sharding &sharding : column(side)) {
      if (!met.insert(sharding).second)
        continue;
      table.names.push_back(sharding.str(model.getMesh()) + (isAgain ? " for each pass" : ""));
      table.costs.push_back({0, countsCopy ? model.localBytes(shape, sharding) : 0, 0});
      table.axes.push_back(axisDigits(sharding, model.getMesh().numAxes()));
      choices.push_back({{}, sharding, isAgain});
    }
}

/// By choice: does an earlier operand of the op read the same copy of the value?
std::vector<bool> ProblemBuilder::readAlike(const Side &wanted) {
  std::vector<bool> alike(column(wanted).size(), false);
  for (unsigned operand : wanted.earlier) {
    auto before = llvm::find_if(columns, [&](const auto &entry) {
      const Side &side = entry.first;
      return side.table == wanted.table && side.position == wanted.position && !side.isResult && side.index == operand;
    });
    for (size_t choice = 0; choice < alike.size(); ++choice)
      alike[choice] = alike[choice] || before->second[choice] == column(wanted)[choice];
  }
  return alike;
}

/// `repeats` follows from `wanted`.
std::vector<bool> ProblemBuilder::allowedColumns(OpGraph::Use use, const Sharding &rest, const Side &wanted,
                                                 RedistributionSeconds::Row seconds) {
  std::vector<bool> allowed(seconds.size(), true);
  if (!storage.concerns(*graph.op(use.op).operands[use.operand]))
    return allowed;
  std::optional<OpId> sum = storage.sumReadBy(use.op);
  if (sum && planning.nodeOf(*sum) != planning.nodeOf(use.op))
    sum.reset();
  llvm::ArrayRef<Choice> choices = planning.choices[wanted.table.index()];
  for (size_t column = 0; column < seconds.size(); ++column) {
    std::optional<Sharding> gradients;
    if (sum)
      gradients = resultSharding(graph.ruleOf(*sum), choices[column].strategies[positions[sum->index()]], 0);
    bool isFree = seconds[column] && *seconds[column] == 0;
    allowed[column] = storage.allows(use, rest, columns.at(wanted)[column], isFree, gradients ? &*gradients : nullptr);
  }
  return allowed;
}

/// A weight comes to its hub once, or once for each pass.
int64_t ProblemBuilder::timesOf(const Side &wanted, size_t choice) const {
  return planning.choices[wanted.table.index()][choice].again ? 2 : 1;
}

void ProblemBuilder::addEdge(ValueId id, NodeId from, const Side &given, NodeId to, const Side &wanted, int64_t repeats,
                             std::optional<OpGraph::Use> use) {
  auto [entry, isNew] = pairTables.try_emplace({given, wanted, fusion.group(id)});
  if (isNew) {
    PairTable table(column(given).size(), column(wanted).size());
    std::vector<bool> isThere = readAlike(wanted);
    auto add = [&](size_t row, RedistributionSeconds::Row seconds) {
      std::vector<bool> allowed = use ? allowedColumns(*use, column(given)[row], wanted, seconds) : std::vector<bool>();
      for (size_t column = 0; column < seconds.size(); ++column)
        table.set(row, column,
                  use && !allowed[column]
                      ? std::nullopt
                      : withRepeats(seconds[column], isThere[column] ? 0 : timesOf(wanted, column) * repeats));
    };
    movesOf(fusion.group(id)).between(graph.value(id).shape, column(given), column(wanted), add);
    entry->second = planning.problem.addPairTable(std::move(table));
  }
  planning.problem.addEdge(from, to, entry->second);
}

void ProblemBuilder::addNode(std::vector<OpId> ops) {
  NodeId node(planning.ops.size());
  for (auto [position, op] : llvm::enumerate(ops)) {
    planning.nodes[op.index()] = node;
    positions[op.index()] = static_cast<unsigned>(position);
  }
  planning.ops.push_back(std::move(ops));
}

void ProblemBuilder::formNodes() {
  planning.nodes.resize(graph.ops.size());
  for (std::vector<OpId> &ops : opsDecidedTogether(graph))
    addNode(std::move(ops));
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

/// From the producer of a value to its users, by way of its hub for those that share it.
void ProblemBuilder::addEdges(ValueId id, llvm::ArrayRef<OpGraph::Use> users, std::optional<NodeId> hub,
                              std::optional<NodeTableId> hubTable) {
  const GraphValue &value = graph.value(id);
  NodeId from = planning.nodeOf(value.producer);
  Side given = givenBy(value);
  int64_t shared = hub ? graph.op(sharingUses(users).front().op).repeats : 0;
  if (hub)
    addEdge(id, from, given, *hub, Side{*hubTable}, shared);
  for (OpGraph::Use use : users) {
    int64_t repeats = graph.op(use.op).repeats;
    bool onHub = hub && repeats == shared;
    addEdge(id, onHub ? *hub : from, onHub ? Side{*hubTable} : given, planning.nodeOf(use.op), wantedBy(use), repeats,
            use);
  }
}

PlanningProblem ProblemBuilder::build() {
  formNodes();
  tableOf.resize(graph.ops.size());
  for (size_t node = 0; node < planning.ops.size(); ++node) {
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
    tablesOfHubs.push_back(pays ? hubTable(ValueId(value), sharingUses(outer.back())) : std::nullopt);
  }
  placeNodes(tablesOfHubs);
  std::vector<std::optional<NodeId>> hubOf(graph.values.size());
  for (auto [node, value] : llvm::enumerate(planning.hubs))
    if (value)
      hubOf[value->index()] = NodeId(node);
  for (size_t value = 0; value < graph.values.size(); ++value)
    addEdges(ValueId(value), outer[value], hubOf[value], tablesOfHubs[value]);
  return std::move(planning);
}

} // namespace

PlanningProblem buildProblem(const OpGraph &graph, const CostModel &model, Filter keep, std::optional<int64_t> zero,
                             WeightCopies copies, const Fusion &fusion, std::optional<Moment> moment) {
  StorageLimit storage(graph, zero);
  return ProblemBuilder(graph, model, keep, storage, copies, fusion, moment).build();
}

} // namespace apc

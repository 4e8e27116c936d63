// The edges of a problem, and the hubs on the way from a value to its users.
#include "Choices.h"
#include "Grouping.h"
#include "ProblemBuilder.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace apc {

static std::optional<double> withRepeats(std::optional<double> seconds, double repeats) {
  return seconds ? std::optional(*seconds * repeats) : std::nullopt;
}

static std::optional<double> without(double shared, std::optional<double> seconds) {
  return seconds ? std::optional(std::max(0.0, *seconds - shared)) : std::nullopt;
}

/// Is some pair possible?
static bool isPossible(const PairTable &table) {
  for (size_t row = 0; row < table.rows(); ++row)
    for (size_t column = 0; column < table.columns(); ++column)
      if (table.possible(row, column))
        return true;
  return false;
}

Side ProblemBuilder::sideOf(OpGraph::Use use) const {
  Side side{tableOf[use.op.index()], positions[use.op.index()], false, use.operand};
  llvm::ArrayRef<std::optional<ValueId>> operands = graph.op(use.op).operands;
  for (unsigned operand = 0; operand < use.operand; ++operand)
    if (operands[operand] == operands[use.operand])
      side.earlier.push_back(operand);
  return side;
}

/// Of an operand or result of \p op.
uint32_t ProblemBuilder::addSide(Side side, OpId op) {
  uint32_t id = sides.idOf(std::move(side));
  if (id < columns.size())
    return id;
  const Side &own = sides[id];
  const FactorRule &rule = graph.ruleOf(op);
  llvm::ArrayRef<Choice> choices = planning.choices[own.table.index()];
  std::vector<Sharding> &shardings = columns.emplace_back();
  shardings.reserve(choices.size());
  for (const Choice &choice : choices) {
    const Strategy &strategy = choice.strategies[own.position];
    shardings.push_back(own.isResult ? resultSharding(rule, strategy, own.index)
                                     : operandSharding(rule, strategy, own.index));
  }
  return id;
}

/// The shardings of all operands and results of ops.
void ProblemBuilder::fillColumns() {
  wantedSides.resize(graph.ops.size());
  for (auto [op, own] : llvm::zip_equal(graph.ops, wantedSides))
    own.resize(op.operands.size());
  for (auto [index, value] : llvm::enumerate(graph.values)) {
    OpId producer = value.producer;
    givenSides.push_back(
        addSide({tableOf[producer.index()], positions[producer.index()], true, value.resultIndex}, producer));
    for (OpGraph::Use use : uses[index])
      wantedSides[use.op.index()][use.operand] = addSide(sideOf(use), use.op);
  }
}

/// May the way from the producer to a user take time?
bool ProblemBuilder::mayPay(ValueId value, OpGraph::Use use) {
  uint32_t from = givenBy(value), to = wantedBy(use);
  auto [entry, isNew] = paid.try_emplace({from, to}, false);
  if (!isNew)
    return entry->second;
  // Mostly the last row says so: a tensor that is cut over all axes.
  llvm::ArrayRef<Sharding> sources = column(from);
  const size_t last = std::min<size_t>(1, sources.size()); // none where a filter leaves the producer no strategy
  for (llvm::ArrayRef<Sharding> some : {sources.take_back(last), sources.drop_back(last)})
    if (!entry->second)
      alone.between(graph.value(value).shape, some, column(to), [&](size_t, RedistributionSeconds::Row seconds) {
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

/// Activations come beside a product where the runtime gathers inputs again; where collectives run beside ops in any
/// case, the step is simulated.
HubWays ProblemBuilder::waysOfHub(ValueId id, llvm::ArrayRef<OpGraph::Use> users) const {
  HubWays ways;
  if (!passes.mayComeAgain(id, users))
    return ways;
  const bool isWeight = weights[id.index()], areWeightsDropped = copies == WeightCopies::Dropped;
  ways.beside = !isWeight && model.getPool().runtime.gathersInputsAgain &&
                !passes.productsBeside(passes.split(users).backward).empty();
  ways.again = isWeight || !areWeightsDropped || ways.beside;
  ways.once = !(isWeight && areWeightsDropped);
  return ways;
}

/// A hub has the shardings that are given or wanted. None where at most one user may have to pay, who shares with
/// nobody.
std::optional<NodeTableId> ProblemBuilder::hubTable(ValueId id, llvm::ArrayRef<OpGraph::Use> users) {
  const GraphValue &value = graph.value(id);
  if (llvm::count_if(users, [&](OpGraph::Use use) { return mayPay(id, use); }) < 2)
    return std::nullopt;
  std::vector<uint32_t> key{givenBy(id)};
  for (OpGraph::Use use : users)
    key.push_back(wantedBy(use));
  std::sort(key.begin() + 1, key.end(), [&](uint32_t a, uint32_t b) { return a != b && sides[a] < sides[b]; });
  key.erase(std::unique(key.begin() + 1, key.end()), key.end());
  HubWays ways = waysOfHub(id, users);
  int64_t numCopies = ways.again ? countedCopies(graph, weights[id.index()], moment, users) : 0;
  auto [entry, isNew] = hubTables.try_emplace({key, ways, numCopies});
  if (!isNew)
    return entry->second;
  NodeTable table;
  std::vector<Choice> choices;
  if (ways.again) // first, for what costs nothing need not be kept
    fillHub(value.shape, key, /*isAgain=*/true, /*numCopies=*/0, table, choices);
  if (ways.once)
    fillHub(value.shape, key, /*isAgain=*/false, numCopies, table, choices);
  entry->second = planning.problem.addNodeTable(std::move(table));
  waysOfHubs[entry->second] = ways;
  sides.idOf({entry->second});
  llvm::transform(choices, std::back_inserter(columns.emplace_back()),
                  [](const Choice &choice) { return *choice.hub; });
  planning.choices.push_back(std::move(choices));
  planning.rows.emplace_back();
  return entry->second;
}

/// Adds a row for each sharding that is given or wanted. \p numCopies wait for the backward pass.
void ProblemBuilder::fillHub(const TensorShape &shape, llvm::ArrayRef<uint32_t> sides, bool isAgain, int64_t numCopies,
                             NodeTable &table, std::vector<Choice> &choices) {
  std::set<Sharding> met;
  for (uint32_t side : sides)
    for (const Sharding &sharding : column(side)) {
      if (!met.insert(sharding).second)
        continue;
      table.names.push_back(sharding.str(model.getMesh()) + (isAgain ? " for each pass" : ""));
      table.costs.push_back({0, numCopies * model.localBytes(shape, sharding), 0});
      table.axes.push_back(axisDigits(sharding, model.getMesh().numAxes()));
      choices.push_back({{}, sharding, isAgain});
    }
}

/// By choice: does an earlier operand of the op read the same copy of the value?
std::vector<bool> ProblemBuilder::readAlike(uint32_t wanted) const {
  std::vector<bool> alike(column(wanted).size(), false);
  const Side &own = sides[wanted];
  for (unsigned operand : own.earlier) {
    uint32_t before = 0;
    while (!sides[before].isOperand(own.table, own.position, operand))
      ++before;
    for (size_t choice = 0; choice < alike.size(); ++choice)
      alike[choice] = alike[choice] || column(before)[choice] == column(wanted)[choice];
  }
  return alike;
}

/// `repeats` follows from `wanted`.
std::vector<std::optional<double>> ProblemBuilder::timesToUser(OpGraph::Use use, const Sharding &rest, uint32_t wanted,
                                                               RedistributionSeconds::Row seconds) {
  std::vector<std::optional<double>> times;
  for (bool isThere : readAlike(wanted))
    times.push_back(isThere ? 0 : 1);
  if (!storage.concerns(*graph.op(use.op).operands[use.operand]))
    return times;
  std::optional<OpId> sum = storage.sumReadBy(use.op);
  if (sum && planning.nodeOf(*sum) != planning.nodeOf(use.op))
    sum.reset();
  llvm::ArrayRef<Choice> choices = planning.choices[sides[wanted].table.index()];
  for (size_t column = 0; column < seconds.size(); ++column) {
    std::optional<Sharding> gradients;
    if (sum)
      gradients = resultSharding(graph.ruleOf(*sum), choices[column].strategies[positions[sum->index()]], 0);
    bool isFree = seconds[column] && *seconds[column] == 0;
    if (!storage.allows(use, rest, columns[wanted][column], isFree, gradients ? &*gradients : nullptr))
      times[column].reset();
  }
  return times;
}

/// A value comes once, or once for each pass; beside a product the second time takes no less than what the product does
/// not hide.
std::vector<std::optional<double>> ProblemBuilder::timesToHub(const TensorShape &shape, const Sharding &from,
                                                              uint32_t hub, RedistributionSeconds::Row seconds) const {
  NodeTableId table = sides[hub].table;
  const bool isBeside = waysOfHubs.at(table).beside;
  const double beside = graph.overlaps ? 2 : 1 + leastExposedShare(model.getPool().device);
  std::vector<std::optional<double>> times;
  for (auto [choice, own] : llvm::zip_equal(planning.choices[table.index()], seconds)) {
    bool isGather = isBeside && model.localBytes(shape, *choice.hub) > model.localBytes(shape, from);
    if (gathersAgain && isBeside && own.value_or(0) > 0 && choice.again != isGather)
      times.push_back(std::nullopt);
    else
      times.push_back(!choice.again ? 1 : isGather ? beside : 2);
  }
  return times;
}

/// By row: the seconds of a value's moves inside the node of its producer, if \p from is that. Users outside, which run
/// as often, share them: all together take at least as long as the slower of both.
std::vector<double> ProblemBuilder::innerSeconds(ValueId id, NodeId from, uint32_t given, int64_t repeats) {
  std::vector<double> seconds(column(given).size(), 0);
  if (from != planning.nodeOf(graph.value(id).producer))
    return seconds;
  std::vector<InnerUse> inner;
  addInnerUses(from, sides[given].position, sides[given].index, inner);
  llvm::erase_if(inner,
                 [&](const InnerUse &use) { return graph.op(planning.opsOf(from)[use.user]).repeats != repeats; });
  for (llvm::ArrayRef<InnerUse> way : waysOf(inner))
    for (auto [row, choice] : llvm::enumerate(planning.choicesOf(from)))
      if (auto own = waySeconds(from, choice, way))
        seconds[row] += own->all;
  return seconds;
}

void ProblemBuilder::addEdge(ValueId id, NodeId from, uint32_t given, NodeId to, uint32_t wanted, int64_t repeats,
                             Exposure exposure, std::optional<OpGraph::Use> use) {
  auto [entry, isNew] = pairTables.try_emplace({given, wanted, fusion.group(id), exposure});
  if (isNew) {
    planning.exposures.push_back(exposure);
    PairTable table(column(given).size(), column(wanted).size());
    std::vector<double> shared = innerSeconds(id, from, given, repeats);
    const auto runs = static_cast<double>(repeats);
    auto add = [&](size_t row, RedistributionSeconds::Row seconds) {
      const Sharding &source = column(given)[row];
      std::vector<std::optional<double>> times =
          use ? timesToUser(*use, source, wanted, seconds) : timesToHub(graph.value(id).shape, source, wanted, seconds);
      for (size_t column = 0; column < seconds.size(); ++column)
        table.set(row, column,
                  times[column] ? without(shared[row], withRepeats(seconds[column], *times[column] * runs))
                                : std::nullopt);
    };
    movesOf(fusion.group(id)).between(graph.value(id).shape, column(given), column(wanted), add);
    isImpossible |= !isPossible(table);
    entry->second = planning.problem.addPairTable(std::move(table));
  }
  planning.problem.addEdge(from, to, entry->second);
}

/// From the producer of a value to its users, by way of its hub for those that share it.
void ProblemBuilder::addEdges(ValueId id, llvm::ArrayRef<OpGraph::Use> users, std::optional<NodeId> hub,
                              std::optional<NodeTableId> hubTable) {
  const GraphValue &value = graph.value(id);
  NodeId from = planning.nodeOf(value.producer);
  uint32_t given = givenBy(id), onItsHub = hub ? sides.idOf({*hubTable}) : 0;
  int64_t shared = hub ? graph.op(sharingUses(graph, users).front().op).repeats : 0;
  auto isOnHub = [&](OpGraph::Use use) { return hub && graph.op(use.op).repeats == shared; };
  // The way to the first user is hidden by no more than the ways of all.
  Exposure ofHub = Exposure::Exposed;
  for (OpGraph::Use use : users)
    if (isOnHub(use))
      ofHub = std::max(ofHub, exposureOf(use));
  if (hub)
    addEdge(id, from, given, *hub, onItsHub, shared, ofHub);
  for (OpGraph::Use use : users) {
    bool onHub = isOnHub(use);
    addEdge(id, onHub ? *hub : from, onHub ? onItsHub : given, planning.nodeOf(use.op), wantedBy(use),
            graph.op(use.op).repeats, onHub ? ofHub : exposureOf(use), use);
  }
  if (std::optional<OpGraph::Use> waiting = hub ? firstWaiting(id, users, shared) : std::nullopt;
      waiting && ofHub != Exposure::Exposed)
    addExposedWay(*waiting, id, given, ofHub);
}

/// The user that is likely to make the device wait for what comes by way of a hub: the first contraction that is
/// exposed, else the first op. Its way alone counts, for others may share it.
std::optional<OpGraph::Use> ProblemBuilder::firstWaiting(ValueId value, llvm::ArrayRef<OpGraph::Use> users,
                                                         int64_t repeats) {
  std::optional<OpGraph::Use> first;
  for (OpGraph::Use use : users) {
    if (graph.op(use.op).repeats != repeats || !isExposed(use) || !mayPay(value, use))
      continue;
    if (graph.ruleOf(use.op).work == Work::Contraction)
      return use;
    if (!first)
      first = use;
  }
  return first;
}

void ProblemBuilder::addExposedWay(OpGraph::Use use, ValueId id, uint32_t given, Exposure ofHub) {
  uint32_t wanted = wantedBy(use);
  auto [entry, isNew] =
      directTables.try_emplace({given, wanted, fusion.group(id), ofHub}, planning.directTables.size());
  if (isNew) {
    PairTable table(column(given).size(), column(wanted).size());
    int64_t repeats = graph.op(use.op).repeats;
    std::vector<double> shared = innerSeconds(id, planning.nodeOf(graph.value(id).producer), given, repeats);
    auto add = [&](size_t row, RedistributionSeconds::Row seconds) {
      for (size_t column = 0; column < seconds.size(); ++column) // the edges by the hub say what is possible
        table.set(row, column,
                  without(shared[row], withRepeats(seconds[column], static_cast<double>(repeats))).value_or(0));
    };
    movesOf(fusion.group(id)).between(graph.value(id).shape, column(given), column(wanted), add);
    planning.directTables.push_back({std::move(table), ofHub});
  }
  planning.exposedWays.push_back({planning.nodeOf(graph.value(id).producer), planning.nodeOf(use.op), entry->second});
}

} // namespace apc

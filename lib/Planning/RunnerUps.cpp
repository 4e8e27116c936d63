// The next best strategy of each op, and what would have to change for it to be the best.
#include "RunnerUps.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <set>

namespace apc {

RunnerUps::RunnerUps(const PlanningTask &task, const Candidate &candidate, const PlanningProblem &planning,
                     const Mesh &mesh)
    : graph(task.graph), pool(task.pool), fusion(task.fusion), candidate(candidate), planning(planning), mesh(mesh),
      model(pool, candidate.mesh), fused(fusion, model), uses(graph.uses()), passes(graph),
      incident(planning.problem.nodes.size()),
      alone(candidate.mesh, [this](const Collective &each) { return model.collectiveSeconds(each); }) {
  for (unsigned group = 0; group < fusion.groupBytes.size(); ++group)
    together.emplace_back(candidate.mesh,
                          [this, group](const Collective &each) { return fused.leastSeconds(each, group); });
  for (size_t node = 0; node < planning.problem.nodes.size(); ++node)
    chosen.push_back(planning.findChoice(NodeId(node), candidate.strategies));
  for (const Edge &edge : planning.problem.edges) {
    incident[edge.from.index()].push_back(&edge);
    incident[edge.to.index()].push_back(&edge);
  }
  // A hub has neighbours that are ops alone.
  for (size_t node = 0; node < chosen.size(); ++node)
    if (planning.hubs[node]) {
      std::vector<std::optional<double>> seconds = secondsOfHub(NodeId(node), std::nullopt);
      for (size_t row = 0; row < seconds.size(); ++row)
        if (seconds[row] && (!chosen[node] || *seconds[row] < *seconds[*chosen[node]]))
          chosen[node] = row;
    }
  numberHubs();
}

/// Numbers hubs by what is around them: those with the same tables and choices at the other ends, in any order, have
/// one number. A hub may have as many edges as the model has ops, so each is walked once.
void RunnerUps::numberHubs() {
  std::map<std::vector<std::pair<size_t, size_t>>, size_t> numbers;
  around.resize(incident.size());
  for (size_t node = 0; node < incident.size(); ++node) {
    if (!planning.hubs[node])
      continue;
    std::vector<std::pair<size_t, size_t>> edges;
    for (const Edge *edge : incident[node])
      edges.push_back(sideOfEdge(NodeId(node), *edge));
    llvm::sort(edges);
    around[node] = numbers.try_emplace(std::move(edges), numbers.size()).first->second;
  }
}

/// The table of an edge as `node` reads it, and the choice at the other end; 0 for none.
std::pair<size_t, size_t> RunnerUps::sideOfEdge(NodeId node, const Edge &edge) const {
  std::optional<size_t> other = chosen[neighbour(edge, node).index()];
  return {2 * edge.table.index() + (edge.from == node ? 1 : 0), other ? 1 + *other : 0};
}

/// Seconds of an edge when its end `node` has `choice`, and the other end `others`.
std::optional<double> RunnerUps::edgeSeconds(const Edge &edge, NodeId node, size_t choice, size_t others) const {
  const PairTable &table = planning.problem.tableOf(edge);
  return edge.from == node ? table.at(choice, others) : table.at(others, choice);
}

/// The node at the other end.
NodeId RunnerUps::neighbour(const Edge &edge, NodeId node) const { return edge.from == node ? edge.to : edge.from; }

bool RunnerUps::comesAgain(ValueId value) const { return llvm::is_contained(candidate.cost.comeAgain, value); }

/// A value that comes again keeps to that, and one that does not to the other, where the problem offers it.
bool RunnerUps::isOpen(NodeId hub, size_t row) const {
  llvm::ArrayRef<Choice> choices = planning.choicesOf(hub);
  bool again = comesAgain(*planning.hubs[hub.index()]);
  return choices[row].again == again ||
         llvm::none_of(choices, [&](const Choice &choice) { return choice.again == again; });
}

/// Seconds of all edges of a hub but those to `except`, for each of its choices.
std::vector<std::optional<double>> RunnerUps::secondsOfHub(NodeId hub, std::optional<NodeId> except) const {
  std::vector<std::optional<double>> sums(planning.choicesOf(hub).size());
  for (size_t row = 0; row < sums.size(); ++row)
    if (isOpen(hub, row))
      sums[row] = 0;
  for (const Edge *edge : incident[hub.index()]) {
    NodeId other = neighbour(*edge, hub);
    if (other == except)
      continue;
    std::optional<size_t> own = chosen[other.index()];
    for (size_t row = 0; row < sums.size(); ++row) {
      std::optional<double> move = own ? edgeSeconds(*edge, hub, row, *own) : std::nullopt;
      sums[row] = sums[row] && move ? std::optional(*sums[row] + *move) : std::nullopt;
    }
  }
  return sums;
}

const std::vector<std::optional<double>> &RunnerUps::extraSeconds(OpId op) {
  NodeId node = planning.nodeOf(op);
  auto [entry, isNew] = knownExtra.try_emplace(situationOf(node));
  if (isNew)
    entry->second = extraSecondsOf(node);
  return entry->second;
}

std::vector<std::optional<double>> RunnerUps::extraSecondsOf(NodeId node) const {
  std::vector<std::optional<double>> extra(planning.choicesOf(node).size());
  HubsAround hubs;
  for (const Edge *edge : incident[node.index()])
    if (NodeId other = neighbour(*edge, node); planning.hubs[other.index()] && !hubs.count(other))
      hubs[other] = secondsOfHub(other, node);
  std::optional<size_t> now = chosen[node.index()];
  std::optional<double> current = now ? seconds(node, *now, hubs) : std::nullopt;
  for (size_t choice = 0; choice < extra.size() && current; ++choice)
    if (std::optional<double> other = choice == *now ? std::nullopt : seconds(node, choice, hubs))
      extra[choice] = *other - *current;
  return extra;
}

std::optional<size_t> RunnerUps::cheapest(OpId op, llvm::ArrayRef<std::optional<double>> extra,
                                          llvm::function_ref<bool(const Strategy &)> qualifies) const {
  std::optional<size_t> best;
  for (auto [index, seconds] : llvm::enumerate(extra))
    if (seconds && (!best || *seconds < *extra[*best]) && qualifies(planning.strategyOf(op, index)))
      best = index;
  return best;
}

RunnerUp RunnerUps::runnerUp(OpId op, size_t choice, double extraSeconds) const {
  return {NamedStrategy::of(planning.strategyOf(op, choice), graph.ruleOf(op), mesh), extraSeconds};
}

std::optional<RunnerUp> RunnerUps::of(OpId op, llvm::ArrayRef<std::optional<double>> extra) {
  std::optional<size_t> best = cheapest(op, extra, [](const Strategy &) { return true; });
  if (!best)
    return std::nullopt;
  NodeId node = planning.nodeOf(op);
  std::vector<size_t> key = situationOf(node);
  key.push_back(*best);
  auto [entry, isNew] = known.try_emplace(std::move(key));
  if (isNew && *extra[*best] > 0)
    entry->second = turningPoints(node, planning.choicesOf(node)[*best]);
  RunnerUp found = runnerUp(op, *best, *extra[*best]);
  found.winsIf = entry->second;
  return found;
}

std::optional<RunnerUp> RunnerUps::cheapestOther(OpId op) {
  const std::vector<std::optional<double>> &extra = extraSeconds(op);
  std::optional<size_t> best = cheapest(op, extra, [](const Strategy &) { return true; });
  return best ? std::optional(runnerUp(op, *best, *extra[*best])) : std::nullopt;
}

std::vector<FactorChoice> RunnerUps::factors(OpId op, llvm::ArrayRef<std::optional<double>> extra) const {
  std::vector<FactorChoice> choices;
  for (auto [id, factor] : llvm::enumerate(graph.ruleOf(op).factors)) {
    if (factor.size == 1)
      continue;
    bool isCut = !candidate.strategies[op.index()].axes[id].empty();
    choices.push_back({factor.name, factor.size, isCut, factor.whole});
    auto differs = [&, id = id](const Strategy &strategy) { return strategy.axes[id].empty() == isCut; };
    if (std::optional<size_t> best = factor.whole ? std::nullopt : cheapest(op, extra, differs))
      choices.back().other = runnerUp(op, *best, *extra[*best]);
  }
  return choices;
}

/// The least seconds of a hub's edges when `node`, which is at the end of one or more of them, has `choice`.
std::optional<double> RunnerUps::leastOfHub(NodeId hub, llvm::ArrayRef<std::optional<double>> others, NodeId node,
                                            size_t choice) const {
  std::optional<double> least;
  for (size_t row = 0; row < others.size(); ++row) {
    std::optional<double> sum = others[row];
    for (const Edge *edge : incident[node.index()])
      if (neighbour(*edge, node) == hub && sum) {
        std::optional<double> move = edgeSeconds(*edge, node, choice, row);
        sum = move ? std::optional(*sum + *move) : std::nullopt;
      }
    if (sum && (!least || *sum < *least))
      least = sum;
  }
  return least;
}

/// Seconds of the node under `choice` and of the redistributions around it, everything else as chosen but for hubs.
std::optional<double> RunnerUps::seconds(NodeId node, size_t choice, const HubsAround &hubs) const {
  double sum = planning.problem.tableOf(node).costs[choice].seconds;
  for (const auto &[hub, others] : hubs) {
    std::optional<double> least = leastOfHub(hub, others, node, choice);
    if (!least)
      return std::nullopt;
    sum += *least;
  }
  for (const Edge *edge : incident[node.index()]) {
    NodeId other = neighbour(*edge, node);
    if (hubs.count(other))
      continue;
    std::optional<size_t> own = chosen[other.index()];
    std::optional<double> move = own ? edgeSeconds(*edge, node, choice, *own) : std::nullopt;
    if (!move)
      return std::nullopt;
    sum += *move;
  }
  return sum;
}

/// Everything that the seconds of a node's choices depend on: the tables around it and the choices at their other ends,
/// and what is around its hubs. Equal for the same node of repeated layers, and for alike users of one value.
std::vector<size_t> RunnerUps::situationOf(NodeId node) const {
  std::vector<size_t> key{planning.problem.nodes[node.index()].table.index(),
                          chosen[node.index()] ? 1 + *chosen[node.index()] : 0};
  for (const Edge *edge : incident[node.index()]) {
    auto [table, choice] = sideOfEdge(node, *edge);
    llvm::append_values(key, table, choice);
    NodeId end = neighbour(*edge, node);
    if (const std::optional<ValueId> &value = planning.hubs[end.index()])
      llvm::append_values(key, static_cast<size_t>(comesAgain(*value)), around[end.index()]);
  }
  return key;
}

RunnerUps::Side RunnerUps::sideOf(NodeId node, const Choice &choice) {
  Side side{&choice, {}};
  llvm::ArrayRef<OpId> ops = planning.opsOf(node);
  auto strategyOf = [&](OpId op) -> const Strategy & {
    const OpId *own = llvm::find(ops, op);
    return own == ops.end() ? candidate.strategies[op.index()] : choice.strategies[own - ops.begin()];
  };
  std::set<ValueId> values;
  for (OpId op : ops)
    for (llvm::ArrayRef<std::optional<ValueId>> list :
         {llvm::ArrayRef(graph.op(op).operands), llvm::ArrayRef(graph.op(op).results)})
      for (std::optional<ValueId> value : list)
        if (value)
          values.insert(*value);
  for (ValueId value : values) {
    std::optional<unsigned> group = fusion.group(value);
    Redistributor &redistributor = (group ? together[*group] : alone).of(graph.value(value).shape);
    if (auto moves = movesByPass(graph, passes, uses[value.index()], strategyOf, redistributor,
                                 {value, {}, comesAgain(value)}, 0))
      for (const GraphMove &move : *moves)
        for (const Collective &collective : move.redistribution.collectives)
          side.collectives.push_back({collective, move.repeats, group});
  }
  return side;
}

/// How much dearer `other` is on changed devices, with the collectives as they are now.
double RunnerUps::difference(NodeId node, const Side &chosen, const Side &other, const Pool &changed) const {
  CostModel costs(changed, candidate.mesh);
  FusedCosts shared(fusion, costs);
  auto cost = [&](const Side &side) {
    double sum = 0;
    for (auto [op, strategy] : llvm::zip_equal(planning.opsOf(node), side.choice->strategies))
      sum += costOfOp(graph, op, strategy, costs).seconds();
    for (const auto &[collective, repeats, group] : side.collectives)
      sum += static_cast<double>(repeats) *
             (group ? shared.leastSeconds(collective, *group) : costs.collectiveSeconds(collective));
    return sum;
  };
  return cost(other) - cost(chosen);
}

/// Where between 1 and `extreme` the difference turns; none when it does not at the extreme. By bisection to a
/// thousandth: seconds rise with one figure and fall with another, but hardly ever turn twice.
std::optional<double> RunnerUps::turningFactor(NodeId node, const Side &chosen, const Side &other,
                                               const ScalableFigure &figure, double extreme) const {
  auto wins = [&](double factor) { return difference(node, chosen, other, scaled(pool, figure, factor)) < 0; };
  if (!wins(extreme))
    return std::nullopt;
  double near = 1, far = extreme;
  while (std::abs(std::log(far / near)) > 1e-3) {
    double middle = std::sqrt(near * far);
    (wins(middle) ? far : near) = middle;
  }
  return far;
}

std::vector<TurningPoint> RunnerUps::turningPoints(NodeId node, const Choice &other) {
  constexpr double range = 16;
  std::vector<ScalableFigure> figures;
  for (unsigned level = 0; level < pool.levels.size(); ++level)
    if (pool.levels[level].size > 1)
      figures.push_back({FigureKind::LinkRate, level});
  figures.push_back({FigureKind::MemoryRate, std::nullopt});
  figures.push_back({FigureKind::ComputeRate, std::nullopt});
  Side now = sideOf(node, planning.choicesOf(node)[*chosen[node.index()]]), then = sideOf(node, other);
  std::vector<TurningPoint> points;
  for (const ScalableFigure &figure : figures)
    for (double extreme : {1 / range, range})
      if (std::optional<double> factor = turningFactor(node, now, then, figure, extreme)) {
        std::optional<double> value = figure.value(pool);
        points.push_back({figure.name(pool), *factor, value ? std::optional(*value * *factor) : std::nullopt});
      }
  llvm::stable_sort(points, [](const TurningPoint &a, const TurningPoint &b) {
    return std::abs(std::log(a.scale)) < std::abs(std::log(b.scale));
  });
  return points;
}

} // namespace apc

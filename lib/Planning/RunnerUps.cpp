// The next best strategy of each op, and what would have to change for it to be the best.
#include "RunnerUps.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

RunnerUps::RunnerUps(const OpGraph &graph, const Cluster &cluster, const Candidate &candidate,
                     const PlanningProblem &planning)
    : graph(graph), cluster(cluster), candidate(candidate), planning(planning), model(cluster, candidate.mesh),
      uses(graph.uses()), incident(graph.ops.size()) {
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const std::vector<Strategy> &offered = planning.strategiesOf(OpId(op));
    auto found = llvm::find(offered, candidate.strategies[op]);
    chosen.push_back(found == offered.end() ? std::nullopt : std::optional<size_t>(found - offered.begin()));
  }
  for (const Edge &edge : planning.problem.edges) {
    incident[edge.from.index()].push_back(&edge);
    incident[edge.to.index()].push_back(&edge);
  }
}

std::vector<std::optional<double>> RunnerUps::extraSeconds(OpId op) const {
  std::vector<std::optional<double>> extra(planning.strategiesOf(op).size());
  std::optional<size_t> now = chosen[op.index()];
  std::optional<double> current = now ? seconds(op, *now) : std::nullopt;
  for (size_t strategy = 0; strategy < extra.size() && current; ++strategy)
    if (std::optional<double> other = strategy == *now ? std::nullopt : seconds(op, strategy))
      extra[strategy] = *other - *current;
  return extra;
}

std::optional<size_t> RunnerUps::cheapest(OpId op, llvm::ArrayRef<std::optional<double>> extra,
                                          llvm::function_ref<bool(const Strategy &)> qualifies) const {
  std::optional<size_t> best;
  for (auto [index, strategy] : llvm::enumerate(planning.strategiesOf(op)))
    if (extra[index] && (!best || *extra[index] < *extra[*best]) && qualifies(strategy))
      best = index;
  return best;
}

std::optional<RunnerUp> RunnerUps::of(OpId op, llvm::ArrayRef<std::optional<double>> extra) {
  std::optional<size_t> best = cheapest(op, extra, [](const Strategy &) { return true; });
  if (!best)
    return std::nullopt;
  auto [entry, isNew] = known.try_emplace(situationOf(op, *best));
  if (isNew && *extra[*best] > 0)
    entry->second = turningPoints(op, planning.strategiesOf(op)[*best]);
  return RunnerUp{planning.problem.tableOf(NodeId(op.index())).names[*best], *extra[*best], entry->second};
}

std::optional<RunnerUp> RunnerUps::cheapestOther(OpId op) const {
  std::vector<std::optional<double>> extra = extraSeconds(op);
  std::optional<size_t> best = cheapest(op, extra, [](const Strategy &) { return true; });
  if (!best)
    return std::nullopt;
  return RunnerUp{planning.problem.tableOf(NodeId(op.index())).names[*best], *extra[*best]};
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
      choices.back().other = RunnerUp{planning.problem.tableOf(NodeId(op.index())).names[*best], *extra[*best]};
  }
  return choices;
}

/// Seconds of the op and of the redistributions around it under `strategy`, everything else as chosen.
std::optional<double> RunnerUps::seconds(OpId op, size_t strategy) const {
  const Problem &problem = planning.problem;
  double sum = problem.tableOf(NodeId(op.index())).costs[strategy].seconds;
  for (const Edge *edge : incident[op.index()]) {
    bool leaves = edge->from.index() == op.index();
    std::optional<size_t> neighbour = chosen[leaves ? edge->to.index() : edge->from.index()];
    if (!neighbour)
      return std::nullopt;
    std::optional<double> move =
        leaves ? problem.tableOf(*edge).at(strategy, *neighbour) : problem.tableOf(*edge).at(*neighbour, strategy);
    if (!move)
      return std::nullopt;
    sum += *move;
  }
  return sum;
}

std::vector<size_t> RunnerUps::situationOf(OpId op, size_t other) const {
  std::vector<size_t> key{planning.problem.nodes[op.index()].table.index(), *chosen[op.index()], other};
  for (const Edge *edge : incident[op.index()]) {
    bool leaves = edge->from.index() == op.index();
    key.push_back(2 * edge->table.index() + (leaves ? 1 : 0));
    key.push_back(*chosen[leaves ? edge->to.index() : edge->from.index()]);
  }
  return key;
}

void RunnerUps::addSteps(ValueId value, const Sharding &from, const Sharding &to, std::vector<Step> &steps) {
  const TensorShape &shape = graph.value(value).shape;
  auto cached = llvm::find_if(redistributors, [&](const auto &entry) { return entry.first == shape; });
  if (cached == redistributors.end()) {
    redistributors.emplace_back(
        shape, Redistributor(shape, candidate.mesh, [this](const Step &step) { return model.stepSeconds(step); }));
    cached = std::prev(redistributors.end());
  }
  if (std::optional<Redistribution> moves = cached->second.steps(from, to))
    llvm::append_range(steps, moves->steps);
}

RunnerUps::Side RunnerUps::sideOf(OpId id, const Strategy &strategy) {
  Side side{&strategy, {}};
  const GraphOp &op = graph.op(id);
  const FactorRule &rule = graph.ruleOf(id);
  for (auto [index, value] : llvm::enumerate(op.operands)) {
    if (!value)
      continue;
    const GraphValue &given = graph.value(*value);
    addSteps(
        *value,
        resultSharding(graph.ruleOf(given.producer), candidate.strategies[given.producer.index()], given.resultIndex),
        operandSharding(rule, strategy, static_cast<unsigned>(index)), side.steps);
  }
  for (auto [index, value] : llvm::enumerate(op.results)) {
    if (!value)
      continue;
    for (OpGraph::Use use : uses[value->index()])
      addSteps(*value, resultSharding(rule, strategy, static_cast<unsigned>(index)),
               operandSharding(graph.ruleOf(use.op), candidate.strategies[use.op.index()], use.operand), side.steps);
  }
  return side;
}

/// How much dearer `other` is on a changed cluster, with the collectives as they are now.
double RunnerUps::difference(OpId op, const Side &chosen, const Side &other, const Cluster &changed) const {
  CostModel costs(changed, candidate.mesh);
  auto cost = [&](const Side &side) {
    double sum = costs.opCost(graph.ruleOf(op), *side.strategy, graph.op(op).format).seconds();
    for (const Step &step : side.steps)
      sum += costs.stepSeconds(step);
    return sum;
  };
  return cost(other) - cost(chosen);
}

/// Where between 1 and `extreme` the difference turns; none when it does not at the extreme. By bisection to a
/// thousandth: prices rise with one figure and fall with another, but hardly ever turn twice.
std::optional<double> RunnerUps::turningFactor(OpId op, const Side &chosen, const Side &other,
                                               const ScalableFigure &figure, double extreme) const {
  auto wins = [&](double factor) { return difference(op, chosen, other, scaled(cluster, figure, factor)) < 0; };
  if (!wins(extreme))
    return std::nullopt;
  double near = 1, far = extreme;
  while (std::abs(std::log(far / near)) > 1e-3) {
    double middle = std::sqrt(near * far);
    (wins(middle) ? far : near) = middle;
  }
  return far;
}

std::vector<TurningPoint> RunnerUps::turningPoints(OpId op, const Strategy &other) {
  constexpr double range = 16;
  std::vector<ScalableFigure> figures;
  for (unsigned level = 0; level < cluster.levels.size(); ++level)
    if (cluster.levels[level].size > 1)
      figures.push_back({FigureKind::LinkRate, level});
  figures.push_back({FigureKind::MemoryRate, std::nullopt});
  figures.push_back({FigureKind::ComputeRate, std::nullopt});
  Side now = sideOf(op, candidate.strategies[op.index()]), then = sideOf(op, other);
  std::vector<TurningPoint> points;
  for (const ScalableFigure &figure : figures)
    for (double extreme : {1 / range, range})
      if (std::optional<double> factor = turningFactor(op, now, then, figure, extreme)) {
        std::optional<double> value = figure.value(cluster);
        points.push_back({figure.name(cluster), *factor, value ? std::optional(*value * *factor) : std::nullopt});
      }
  llvm::stable_sort(points, [](const TurningPoint &a, const TurningPoint &b) {
    return std::abs(std::log(a.factor)) < std::abs(std::log(b.factor));
  });
  return points;
}

} // namespace apc

// From the winning candidate to the plan's words: choices with reasons, shardings, collectives, mesh.
#include "Candidate.h"
#include "RunnerUps.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

/// Axis names by what they carry: `data` when an axis cuts the batch in most contractions, `model` when it cuts
/// something else, and `idle` when nothing. Equal names are numbered: data, data2.
Mesh nameAxes(const OpGraph &graph, const Candidate &candidate) {
  std::vector<std::optional<FactorId>> batch = batchFactors(graph);
  std::vector<MeshAxis> axes = candidate.mesh.getAxes();
  std::map<std::string, unsigned> used;
  for (auto [index, axis] : llvm::enumerate(axes)) {
    double data = 0, model = 0;
    for (auto [op, strategy, factor] : llvm::zip_equal(graph.ops, candidate.strategies, batch)) {
      const FactorRule &rule = graph.rules[op.rule.index()];
      double weight = rule.work == Work::Contraction ? 1e6 : op.operands.empty() ? 0 : 1;
      for (auto [id, list] : llvm::enumerate(strategy.axes))
        if (llvm::is_contained(list, AxisId(index)))
          (factor == FactorId(id) ? data : model) += weight;
    }
    axis.name = data + model == 0 ? "idle" : data > model ? "data" : "model";
    if (unsigned count = ++used[axis.name]; count > 1)
      axis.name += std::to_string(count);
  }
  return Mesh(std::move(axes));
}

std::vector<std::string> axisNames(llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  std::vector<std::string> names;
  for (AxisId axis : axes)
    names.push_back(mesh.axis(axis).name);
  return names;
}

/// Numbers in a reason differ from strategy to strategy ("2 is less than 8"); the reason's kind does not. Grouped by
/// the text.
PlanRejections rejectionsOf(const FactorRule &rule, const Mesh &mesh) {
  PlanRejections rejections;
  std::vector<RejectedStrategy> rejected;
  rejections.offered = static_cast<unsigned>(enumerateStrategies(rule, mesh, &rejected).size());
  rejections.rule = rule.str();
  for (const RejectedStrategy &entry : rejected) {
    auto known = llvm::find_if(rejections.reasons,
                               [&](const PlanRejections::Reason &reason) { return reason.reason == entry.reason; });
    if (known != rejections.reasons.end())
      ++known->count;
    else
      rejections.reasons.push_back({entry.reason, 1, entry.strategy.str(rule, mesh)});
  }
  return rejections;
}

void describeMesh(const Cluster &cluster, const Mesh &mesh, Plan &plan) {
  for (const MeshAxis &axis : mesh.getAxes())
    plan.mesh.push_back({axis.name, axis.size, cluster.levels[axis.level].name, axis.level});
  plan.devicesUsed = 1;
  for (const PlanAxis &axis : plan.mesh)
    if (!llvm::StringRef(axis.name).starts_with("idle"))
      plan.devicesUsed *= axis.size;
}

/// Inputs and parameters have a sharding, not a choice of their own.
bool hasChoice(const GraphOp &op) { return !op.operands.empty(); }

void describeChoices(const OpGraph &graph, const Candidate &candidate, const Mesh &mesh, Plan &plan) {
  std::vector<double> waiting(graph.ops.size());
  for (const ProgramMove &move : candidate.price.moves)
    waiting[move.users.front().op.index()] += move.redistribution.seconds;
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    if (!hasChoice(op))
      continue;
    const FactorRule &rule = graph.rules[op.rule.index()];
    int64_t bytes = 0;
    for (auto [result, value] : llvm::enumerate(op.results))
      if (value)
        bytes += localShape(graph.value(*value).shape, resultSharding(rule, candidate.strategies[index], result), mesh)
                     .bytes();
    plan.choices.push_back({op.name, op.operatorName, candidate.strategies[index].str(rule, mesh),
                            candidate.price.ops[index].seconds(), waiting[index], bytes, std::nullopt, 0});
  }
}

/// Adds to each choice its runner-up, what its factors could do instead, and why other strategies were not offered.
void describeReasons(const OpGraph &graph, RunnerUps &runnerUps, const Mesh &mesh, Plan &plan) {
  std::map<RuleId, unsigned> rejections;
  auto choice = plan.choices.begin();
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    if (!hasChoice(op))
      continue;
    auto [entry, isNew] = rejections.try_emplace(op.rule, static_cast<unsigned>(plan.rejections.size()));
    if (isNew)
      plan.rejections.push_back(rejectionsOf(graph.rules[op.rule.index()], mesh));
    std::vector<std::optional<double>> extra = runnerUps.extraSeconds(OpId(index));
    choice->runnerUp = runnerUps.of(OpId(index), extra);
    if (graph.rules[op.rule.index()].work != Work::View)
      choice->factors = runnerUps.factors(OpId(index), extra);
    choice->rejections = entry->second;
    ++choice;
  }
}

void describeShardings(const OpGraph &graph, const Candidate &candidate, const Mesh &mesh, Plan &plan) {
  for (const GraphValue &value : graph.values) {
    Sharding sharding =
        resultSharding(graph.ruleOf(value.producer), candidate.strategies[value.producer.index()], value.resultIndex);
    TensorShape local = localShape(value.shape, sharding, mesh);
    PlanSharding entry{value.name,
                       graph.op(value.producer).name,
                       valueRoleName(value.role).str(),
                       {value.shape.dims.begin(), value.shape.dims.end()},
                       {local.dims.begin(), local.dims.end()},
                       {},
                       axisNames(sharding.partial, mesh),
                       value.shape.elementBits};
    for (const AxisList &axes : sharding.dims)
      entry.dims.push_back(axisNames(axes, mesh));
    plan.shardings.push_back(std::move(entry));
  }
}

void describeMoves(const OpGraph &graph, const Candidate &candidate, const Mesh &mesh, Plan &plan) {
  for (const ProgramMove &move : candidate.price.moves) {
    PlanMove entry{graph.value(move.value).name, move.target.str(mesh), {}, {}, move.redistribution.seconds};
    for (OpGraph::Use use : move.users)
      entry.users.push_back(graph.op(use.op).name);
    for (const Step &step : move.redistribution.steps)
      entry.steps.push_back(step.str(mesh));
    plan.moves.push_back(std::move(entry));
  }
}

/// Says of every pinned op who pinned it, and what would be taken there if it alone were free.
void describePins(const PlanningTask &task, const Candidate &candidate, const Mesh &mesh, Plan &plan) {
  PlanningProblem unpinned = buildProblem(task.graph, CostModel(task.cluster, mesh));
  RunnerUps alternatives(task.graph, task.cluster, candidate, unpinned);
  auto choice = plan.choices.begin();
  for (auto [index, op] : llvm::enumerate(task.graph.ops)) {
    if (!hasChoice(op))
      continue;
    if (task.pins.isPinned(OpId(index)))
      choice->pinned = PinnedChoice{task.pins.describe(OpId(index)), alternatives.cheapestOther(OpId(index))};
    ++choice;
  }
}

} // namespace

Mesh describeProgram(const OpGraph &graph, const Cluster &cluster, const Candidate &candidate, Plan &plan) {
  Mesh mesh = nameAxes(graph, candidate);
  describeMesh(cluster, mesh, plan);
  describeChoices(graph, candidate, mesh, plan);
  describeShardings(graph, candidate, mesh, plan);
  describeMoves(graph, candidate, mesh, plan);
  const ProgramPrice &price = candidate.price;
  plan.stepSeconds = price.seconds();
  plan.computeSeconds = price.computeSeconds;
  plan.communicationSeconds = price.communicationSeconds;
  plan.flopsPerDevice = price.flopsPerDevice;
  plan.memory = price.memory;
  for (auto [kind, bytes] : price.communicationBytes)
    plan.communicationBytes[stepName(kind).str()] = bytes;
  return mesh;
}

void describeCandidate(const PlanningTask &task, const Candidate &candidate, Plan &plan) {
  Mesh mesh = describeProgram(task.graph, task.cluster, candidate, plan);
  PlanningProblem planning = problemOf(task, mesh);
  RunnerUps runnerUps(task.graph, task.cluster, candidate, planning);
  describeReasons(task.graph, runnerUps, mesh, plan);
  if (!task.pins.empty())
    describePins(task, candidate, mesh, plan);
}

} // namespace apc

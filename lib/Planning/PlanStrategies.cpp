// Strategies that come from outside, made a plan.
#include "apc/Planning/PlanStrategies.h"

#include "DescribePlan.h"
#include "NameAxes.h"

#include <map>
#include <random>

namespace apc {

namespace {

/// True when a value that is `from` can be brought to `to`: no collective makes a tensor partial.
bool canBecome(const Sharding &from, const Sharding &to) {
  if (!to.isPartial())
    return true;
  return from.combiner == to.combiner &&
         llvm::all_of(to.partial, [&](AxisId axis) { return llvm::is_contained(from.partial, axis); });
}

bool operandsCanBe(const OpGraph &graph, OpId op, const Strategy &strategy, llvm::ArrayRef<Strategy> before) {
  for (auto [index, value] : llvm::enumerate(graph.op(op).operands)) {
    Sharding wanted = operandSharding(graph.ruleOf(op), strategy, static_cast<unsigned>(index));
    if (!value && wanted.isPartial())
      return false; // constants are whole
    if (!value)
      continue;
    const GraphValue &known = graph.value(*value);
    const Strategy &producer = before[known.producer.index()];
    if (!canBecome(resultSharding(graph.ruleOf(known.producer), producer, known.resultIndex), wanted))
      return false;
  }
  return true;
}

} // namespace

llvm::Expected<Plan> planStrategies(const OpGraph &graph, const Cluster &cluster, const Mesh &mesh,
                                    std::vector<Strategy> strategies) {
  CostModel model(cluster.pool, mesh);
  llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model);
  if (!cost)
    return cost.takeError();
  Plan plan;
  plan.request.devices = mesh.numDevices();
  plan.cluster = cluster.name;
  plan.search = "given";
  StepTime time = stepTime(graph, *cost, model);
  Candidate candidate{mesh, std::move(strategies), std::move(*cost), time};
  plan.stages.push_back(describeProgram(graph, cluster.pool, candidate));
  plan.devicesUsed = devicesUsed(graph, candidate);
  return withTotals(std::move(plan));
}

std::vector<Strategy> drawStrategies(const OpGraph &graph, const Mesh &mesh, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<RuleId, std::vector<Strategy>> offered;
  std::vector<Strategy> drawn;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    RuleId rule = graph.ops[op].rule;
    auto [entry, isNew] = offered.try_emplace(rule);
    if (isNew)
      entry->second = enumerateStrategies(graph.rules[rule.index()], mesh);
    std::vector<const Strategy *> possible;
    for (const Strategy &strategy : entry->second)
      if (operandsCanBe(graph, OpId(op), strategy, drawn))
        possible.push_back(&strategy);
    // The remainder, not a distribution: the library's distributions differ between implementations.
    drawn.push_back(*possible[random() % possible.size()]);
  }
  return drawn;
}

} // namespace apc

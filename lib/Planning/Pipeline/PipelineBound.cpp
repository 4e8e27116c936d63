// Fastest strategies of all ops, spread evenly.
#include "PipelineBound.h"

#include "WorkerPools.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Sharding/Strategy.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace apc {

namespace {

/// Everything that the seconds of an op depend on.
using OpKind = std::tuple<RuleId, NumberFormat, bool, bool, int64_t>;

/// Of all repeats.
double fastest(const OpGraph &graph, OpId op, llvm::ArrayRef<CostModel> models) {
  std::optional<double> least;
  for (const CostModel &model : models)
    for (const Strategy &strategy : enumerateStrategies(graph.ruleOf(op), model.getMesh())) {
      double seconds = costOfOp(graph, op, strategy, model).seconds();
      least = std::min(least.value_or(seconds), seconds);
    }
  return least.value_or(0);
}

} // namespace

double leastPipelineSeconds(const PlanningTask &whole, int64_t workers) {
  std::optional<Pool> worker = poolOfWorker(whole.pool, workers);
  assert(worker && "the number of workers has been checked");
  std::vector<CostModel> models;
  for (const Mesh &mesh : logicalMeshes(Mesh::fromLevels(worker->levelSizes()), mostAxes(whole.request)))
    models.emplace_back(*worker, mesh);
  const OpGraph &graph = whole.graph;
  std::map<OpKind, double> known;
  double all = 0, once = 0;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const GraphOp &op = graph.ops[index];
    if (op.inPass) // free where rows are whole
      continue;
    auto [entry, isNew] = known.try_emplace({op.rule, op.format, op.atLoad, op.accumulates, op.repeats}, 0.0);
    if (isNew)
      entry->second = fastest(graph, OpId(index), models);
    all += entry->second;
    once += op.repeats == graph.microBatches() ? entry->second / static_cast<double>(op.repeats) : 0;
  }
  return std::max(all / static_cast<double>(workers), once);
}

} // namespace apc

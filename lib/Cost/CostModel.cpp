// Binds the formulas to a pool and a mesh.
#include "apc/Cost/CostModel.h"

#include <cassert>

using namespace llvm;

namespace apc {

CostModel::CostModel(const Pool &pool, const Mesh &mesh)
    : state(std::make_shared<const State>(State{pool, mesh, DeviceRates(pool.device, pool.runtime)})) {
  for ([[maybe_unused]] const MeshAxis &axis : mesh.getAxes())
    assert(axis.level < pool.levels.size() && "the mesh has a level that the pool lacks");
}

OpCost CostModel::opCost(const FactorRule &rule, const Strategy &strategy, NumberFormat format) const {
  if (rule.work == Work::View)
    return {};
  return apc::opCost(rule, localFactorSizes(rule, strategy, state->mesh), format, state->pool.device, state->rates,
                     state->pool.runtime);
}

int64_t CostModel::workspaceBytes(const FactorRule &rule) const {
  return rule.work == Work::Contraction ? state->pool.device.workspaceBytes : 0;
}

GroupSpan CostModel::span(ArrayRef<AxisId> axes) const {
  GroupSpan span;
  for (AxisId id : axes) {
    const MeshAxis &axis = state->mesh.axis(id);
    if (axis.size == 1)
      continue;
    auto *at = find_if(span.parts, [&](const GroupSpan::Part &part) { return part.level >= axis.level; });
    if (at != span.parts.end() && at->level == axis.level)
      at->size *= axis.size;
    else
      span.parts.insert(at, {axis.level, axis.size});
  }
  return span;
}

double CostModel::collectiveSeconds(const Collective &collective) const {
  if (collective.kind == CollectiveKind::Slice)
    return 0;
  GroupSpan ranks = span(collective.axes);
  double seconds = apc::collectiveSeconds(collective.kind, ranks, costedBytes(collective), state->pool);
  if (numExchanges(collective) == 2)
    seconds += apc::collectiveSeconds(CollectiveKind::AllReduce, ranks, collective.inputBytes, state->pool);
  return seconds / state->pool.runtime.collectiveShare;
}

int64_t CostModel::localBytes(const TensorShape &shape, const Sharding &sharding) const {
  return localShape(shape, sharding, state->mesh).bytes();
}

int64_t costedBytes(const Collective &collective) {
  return collective.kind == CollectiveKind::AllGather ? collective.outputBytes : collective.inputBytes;
}

int64_t exchangedBytes(const Collective &collective) {
  return numExchanges(collective) * std::max(collective.inputBytes, collective.outputBytes);
}

} // namespace apc

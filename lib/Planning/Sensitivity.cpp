// Planning again on devices and links a fifth better or worse.
#include "DescribePlan.h"
#include "apc/Cluster/ScaledPool.h"

#include "apc/Plan/Diff.h"
#include "apc/Support/Error.h"

namespace apc {

namespace {

llvm::Expected<Plan> planScaled(const PlanningTask &task, const ScalableFigure &figure, double scale) {
  int64_t limit = task.memoryLimitBytes;
  if (figure.kind == FigureKind::MemorySize)
    limit = static_cast<int64_t>(scale * static_cast<double>(limit));
  llvm::Expected<PlanningTask> changed = onPool(task, scaled(task.pool, figure, scale), limit);
  if (!changed)
    return changed.takeError();
  llvm::Expected<Decision> decision = decide(*changed);
  if (!decision)
    return decision.takeError();
  Plan plan;
  plan.stages.push_back(describeProgram(task.graph, changed->pool, decision->candidate));
  return withTotals(std::move(plan));
}

PlanSensitivity measure(const PlanningTask &task, const Plan &plan, const ScalableFigure &figure, double scale) {
  PlanSensitivity row;
  row.figure = figure.name(task.pool);
  row.scale = scale;
  llvm::Expected<Plan> other = planScaled(task, figure, scale);
  if (!other) {
    row.reason = llvm::StringRef(takeMessage(other.takeError()).second).split('\n').first.str();
    return row;
  }
  row.stepSeconds = other->stepSeconds;
  row.mesh = other->meshText();
  for (const StrategyChange &change : diffPlans(plan, *other).strategies)
    row.changedOps += change.count;
  return row;
}

} // namespace

Sensitivity measureSensitivity(const PlanningTask &task, const Plan &plan) {
  Sensitivity sensitivity;
  for (FigureKind kind :
       {FigureKind::LinkRate, FigureKind::MemoryRate, FigureKind::MemorySize, FigureKind::ComputeRate})
    for (double scale : {0.8, 1.2}) {
      std::optional<PlanSensitivity> row;
      if (!task.isStopped())
        row = measure(task, plan, {kind, std::nullopt}, scale);
      if (task.isStopped()) { // a search that was cut short says nothing
        sensitivity.note = "stopped before the sensitivity to all figures was measured";
        return sensitivity;
      }
      sensitivity.rows.push_back(std::move(*row));
    }
  return sensitivity;
}

} // namespace apc

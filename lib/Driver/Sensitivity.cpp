// Planning again on clusters a fifth better or worse.
#include "Candidate.h"

#include "apc/Cluster/ScaledCluster.h"
#include "apc/Plan/Diff.h"
#include "apc/Plan/Summary.h"
#include "apc/Support/Error.h"

namespace apc {

namespace {

PlanSensitivity measure(const PlanningTask &task, const Plan &plan, const ScalableFigure &figure, double factor,
                        Decide decide) {
  PlanSensitivity row;
  row.figure = figure.name(task.cluster);
  row.factor = factor;
  Cluster changed = scaled(task.cluster, figure, factor);
  int64_t limit = task.memoryLimitBytes;
  if (figure.kind == FigureKind::MemorySize)
    limit = static_cast<int64_t>(factor * static_cast<double>(limit));
  Plan other;
  other.memoryLimitBytes = limit;
  if (llvm::Error error = decide({task.graph, changed, limit, task.search, task.options, task.pins}, other)) {
    row.reason = llvm::StringRef(takeMessage(std::move(error)).second).split('\n').first.str();
    return row;
  }
  row.stepSeconds = other.stepSeconds;
  row.mesh = meshText(other);
  for (const StrategyChange &change : diffPlans(plan, other).strategies)
    row.changedOps += change.count;
  return row;
}

} // namespace

void measureSensitivity(const PlanningTask &task, Plan &plan, Decide decide) {
  for (FigureKind kind :
       {FigureKind::LinkRate, FigureKind::MemoryRate, FigureKind::MemorySize, FigureKind::ComputeRate})
    for (double factor : {0.8, 1.2}) {
      std::optional<PlanSensitivity> row;
      if (!task.isStopped())
        row = measure(task, plan, {kind, std::nullopt}, factor, decide);
      if (task.isStopped()) { // while it was measured: a search that was cut short says nothing
        plan.notes.push_back("stopped before the sensitivity to all figures was measured");
        return;
      }
      plan.sensitivity.push_back(std::move(*row));
    }
}

} // namespace apc

// Planning again on devices and links a fifth better or worse.
#include "DescribePlan.h"
#include "apc/Cluster/ScaledPool.h"

#include "apc/Plan/Diff.h"
#include "apc/Support/Error.h"

namespace apc {

namespace {

/// The plan for a changed pool: what a search finds there or the program that is kept, whichever is faster. So no
/// difference comes from a search that happens to find less.
llvm::Expected<Plan> planScaled(const PlanningTask &task, const Candidate &kept, const ScalableFigure &figure,
                                double scale) {
  int64_t limit = task.memoryLimitBytes;
  if (figure.kind == FigureKind::MemorySize)
    limit = static_cast<int64_t>(scale * static_cast<double>(limit));
  llvm::Expected<PlanningTask> changed = onPool(task, scaled(task.pool, figure, scale), limit);
  if (!changed)
    return changed.takeError();
  changed->knownSeconds.reset(); // of the figures as they are
  llvm::Expected<Decision> decision = decide(*changed);
  if (!decision)
    return decision.takeError();
  llvm::Expected<Candidate> same = costCandidate(*changed, kept.mesh, kept.strategies, kept.cost.hubsOfComeAgain());
  if (!same)
    return same.takeError();
  bool fits = same->cost.memory.total() <= limit;
  bool isKept = fits && same->seconds() <= decision->seconds() * (1 + sumRounding);
  Plan plan;
  plan.stages.push_back(describeProgram(task.graph, changed->pool, isKept ? *same : decision->candidate));
  return withTotals(std::move(plan));
}

PlanSensitivity measure(const PlanningTask &task, const Candidate &kept, const Plan &plan, const ScalableFigure &figure,
                        double scale) {
  PlanSensitivity row;
  row.figure = figure.name(task.pool);
  row.scale = scale;
  llvm::Expected<Plan> other = planScaled(task, kept, figure, scale);
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

Sensitivity measureSensitivity(const PlanningTask &task, const Candidate &candidate, const Plan &plan) {
  Sensitivity sensitivity;
  for (FigureKind kind :
       {FigureKind::LinkRate, FigureKind::MemoryRate, FigureKind::MemorySize, FigureKind::ComputeRate})
    for (double scale : {0.8, 1.2}) {
      std::optional<PlanSensitivity> row;
      auto isOver = [&] { return task.isStopped() || task.isOutOfTime(PlanningTask::Part::Search); };
      if (!isOver())
        row = measure(task, candidate, plan, {kind, std::nullopt}, scale);
      if (isOver()) { // a search that was cut short says nothing
        sensitivity.note = llvm::formatv("{0} before the sensitivity to all figures was measured",
                                         task.isStopped() ? "stopped" : "the time limit (--time-limit) was over");
        return sensitivity;
      }
      sensitivity.rows.push_back(std::move(*row));
    }
  return sensitivity;
}

} // namespace apc

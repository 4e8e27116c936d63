// The plan of a layout, with one stage or several.
#include "../DescribePlan.h"
#include "../Pipeline/DescribePipeline.h"
#include "../References.h"
#include "CostLayout.h"
#include "PipelineLayout.h"

#include "apc/Support/Error.h"

namespace apc {

static llvm::Expected<Plan> planOfStage(const PlanningTask &task, const ParallelDegrees &layout) {
  llvm::Expected<CostedLayout> costed = costLayout(task, layout);
  if (!costed)
    return costed.takeError();
  std::string remark = std::move(costed->remark);
  Plan plan = describePlan(task, decisionFor(task, std::move(costed->candidate), "layout " + layout.str()));
  if (!remark.empty())
    plan.notes.push_back(remark);
  return plan;
}

static llvm::Expected<Plan> planOfPipeline(const PlanningTask &task, const ParallelDegrees &layout) {
  task.report("costing the stages of a pipeline");
  llvm::Expected<PipelineTrial> trial = costPipelineLayout(task, layout);
  if (!trial)
    return trial.takeError();
  if (!trial->answer)
    return noPlanError("layout {0}: {1}", layout.str(), trial->reason);
  Plan plan = describePipeline(task, *trial->answer);
  plan.search = "layout " + layout.str();
  if (std::string remark = remarkOnLayout(task, layout); !remark.empty())
    plan.notes.push_back(remark);
  if (!trial->fits())
    plan.notes.push_back(trial->reason);
  return plan;
}

llvm::Expected<Plan> evaluateLayout(const OpGraph &graph, const PlanRequest &request, const PlanningTarget &target,
                                    const ParallelDegrees &layout, const PlanningControl &control) {
  PlanRequest own = withPipelineOf(request, layout);
  llvm::Expected<PlanningTask> task = makeTask(graph, own, target, {}, control);
  if (!task)
    return task.takeError();
  llvm::Expected<Plan> plan = layout.pipeline > 1 ? planOfPipeline(*task, layout) : planOfStage(*task, layout);
  if (!plan)
    return plan.takeError();
  plan->cluster = target.cluster.name;
  std::vector<std::string> notes = target.notes;
  if (!target.idleNote.empty())
    notes.insert(notes.begin(), target.idleNote);
  plan->notes.insert(plan->notes.end(), notes.begin(), notes.end());
  return plan;
}

} // namespace apc

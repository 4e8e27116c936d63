// The plan of a layout, with one stage or several, or its figures alone.
#include "../DescribePlan.h"
#include "../Pipeline/DescribePipeline.h"
#include "../References.h"
#include "CostLayout.h"
#include "PipelineLayout.h"

#include "apc/Planning/LayoutFigures.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

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

namespace {

/// The part of a plan that is needed of thousands of layouts.
struct PlanFigures {
  Plan plan;
  MemoryTable betweenSteps; ///< of a device of the worker that holds the last stage
  bool isByMemory = true;
};

} // namespace

static MemoryTable betweenStepsOf(const PlanningTask &task, const Candidate &candidate) {
  return memoryBetweenSteps(task.graph, candidate.strategies, CostModel(task.pool, candidate.mesh));
}

static StagePlan figuresOf(const Candidate &candidate) {
  StagePlan stage;
  stage.computeSeconds = candidate.time.computeSeconds;
  stage.communicationSeconds = candidate.cost.communicationSeconds;
  stage.exposedCommunicationSeconds = candidate.time.exposedCommunicationSeconds;
  stage.hostSeconds = candidate.time.hostSeconds;
  stage.memory = candidate.cost.memory;
  return stage;
}

static llvm::Expected<PlanFigures> figuresOfStage(const PlanningTask &task, const ParallelDegrees &layout) {
  llvm::Expected<CostedLayout> costed = costLayout(task, layout);
  if (!costed)
    return costed.takeError();
  PlanFigures figures;
  figures.plan.stages.push_back(figuresOf(costed->candidate));
  figures.betweenSteps = betweenStepsOf(task, costed->candidate);
  return figures;
}

static llvm::Expected<PlanFigures> figuresOfPipeline(const PlanningTask &task, const ParallelDegrees &layout) {
  llvm::Expected<PipelineTrial> trial = costPipelineLayout(task, layout);
  if (!trial)
    return trial.takeError();
  if (!trial->answer)
    return noPlanError("layout {0}: {1}", layout.str(), trial->reason);
  const PipelineAnswer &answer = *trial->answer;
  PlanFigures figures;
  Plan &plan = figures.plan;
  plan.pipeline.emplace();
  for (auto [index, own] : llvm::enumerate(answer.stages)) {
    plan.stages.push_back(figuresOf(*own->candidate));
    plan.stages.back().memoryTogether = answer.memory[index];
    plan.stages.back().firstRank =
        answer.workers.firstRank(answer.point.lists.shape.workerOf(static_cast<uint32_t>(index)));
  }
  for (const auto &[stage, own] : llvm::zip_equal(plan.stages, answer.stages))
    if (stage.firstRank == plan.stages.back().firstRank)
      figures.betweenSteps += betweenStepsOf(*own->task, *own->candidate);
  plan.stepSeconds = answer.time.stepSeconds;
  figures.isByMemory = llvm::any_of(answer.stages, [](const auto &own) { return own->isByMemory; });
  return figures;
}

llvm::Expected<LayoutFigures> figuresOfLayout(const OpGraph &graph, const PlanRequest &request,
                                              const PlanningTarget &target, const ParallelDegrees &layout,
                                              const PlanningControl &control) {
  PlanRequest own = withPipelineOf(request, layout);
  llvm::Expected<PlanningTask> task = makeTask(graph, own, target, {}, control);
  if (!task)
    return task.takeError();
  llvm::Expected<PlanFigures> found =
      layout.pipeline > 1 ? figuresOfPipeline(*task, layout) : figuresOfStage(*task, layout);
  if (!found)
    return found.takeError();
  Plan plan = withTotals(std::move(found->plan));
  LayoutFigures figures;
  figures.stepSeconds = plan.stepSeconds;
  figures.computeSeconds = plan.computeSeconds;
  figures.communicationSeconds = plan.communicationSeconds;
  figures.exposedCommunicationSeconds = plan.exposedCommunicationSeconds;
  figures.hostSeconds = plan.hostSeconds;
  figures.bubbleSeconds = plan.bubbleSeconds;
  figures.memory = plan.memory;
  for (const StagePlan &stage : plan.stages)
    if (stage.firstRank == plan.stages.back().firstRank)
      figures.lastWorker += stage.memoryOfWorker();
  figures.lastWorkerBetweenSteps = found->betweenSteps;
  figures.memoryLimitBytes = task->memoryLimitBytes;
  figures.isByMemory = found->isByMemory;
  return figures;
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

// The whole way from a graph and a request to a plan.
#include "apc/Planning/Planning.h"

#include "DescribePlan.h"
#include "Pins/PinNotes.h"
#include "Pipeline/Bound/PipelineBound.h"
#include "Pipeline/PlanPipeline.h"
#include "Pipeline/Workers/ChooseWorkers.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

std::vector<int64_t> pipelineWorkers(const Pool &pool) { return possibleWorkers(pool); }

/// The plan of stages, with the remarks on hardware and pins.
static llvm::Expected<Plan> planAsPipeline(const PlanningTask &task, const PlanningTarget &target,
                                           llvm::ArrayRef<std::string> pinNotes) {
  llvm::Expected<Plan> plan = planPipeline(task);
  if (!plan)
    return plan.takeError();
  plan->cluster = target.cluster.name;
  std::vector<std::string> notes = target.notes;
  if (!target.idleNote.empty())
    notes.push_back(target.idleNote);
  llvm::append_range(notes, pinNotes);
  llvm::append_range(notes, plan->notes);
  plan->notes = std::move(notes);
  return plan;
}

llvm::Expected<PipelineBound> boundPipeline(const OpGraph &graph, const PlanRequest &request,
                                            const PlanningTarget &target, const PlanningControl &control) {
  llvm::Expected<PlanningTask> task = makeTask(graph, request, target, {}, control);
  if (!task)
    return task.takeError();
  auto workers = chooseWorkers(*task);
  if (!workers)
    return workers.takeError();
  return leastPipelineSeconds(*task, *workers, request.timeLimitSeconds);
}

llvm::Expected<Plan> planGraph(const OpGraph &graph, const PlanRequest &request, const PlanningTarget &target,
                               const ModelPins &modelPins, const PlanningControl &control) {
  std::vector<Pin> pins = request.pins;
  for (const InputPin &input : request.inputs)
    pins.push_back(input.pin);
  std::vector<Pin> ofUser = pins;
  llvm::append_range(pins, modelPins.pins);
  llvm::Expected<PlanningTask> task = makeTask(graph, request, target, std::move(pins), control);
  if (!task)
    return task.takeError();
  if (request.pipeline.isOn())
    return planAsPipeline(*task, target, modelPins.notes);
  llvm::Expected<DevicesDecision> decided = decideDevices(*task, target.fewer);
  if (!decided)
    return decided.takeError();
  Plan plan = describePlan(decided->task, decided->decision);
  plan.cluster = target.cluster.name;
  std::vector<std::string> notes;
  if (decided->usesAll && !target.idleNote.empty())
    notes.push_back(target.idleNote);
  llvm::append_range(notes, target.notes);
  llvm::append_range(notes, modelPins.notes);
  llvm::append_range(notes, pinNotes(ofUser, target.cluster.pool));
  llvm::append_range(notes, plan.notes);
  if (request.sensitivity) {
    Sensitivity sensitivity = measureSensitivity(decided->task, decided->decision.candidate, plan);
    plan.sensitivity = std::move(sensitivity.rows);
    if (sensitivity.note)
      notes.push_back(*sensitivity.note);
  }
  plan.notes = std::move(notes);
  return plan;
}

} // namespace apc

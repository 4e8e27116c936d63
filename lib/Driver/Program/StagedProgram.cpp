// Stage by stage.
#include "apc/Driver/StagedProgram.h"

#include "OfStage.h"

#include "apc/Driver/PipelineActions.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Partition/Partition.h"
#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/StageModule.h"
#include "apc/Transforms/SumByStage.h"

namespace apc {

llvm::Expected<StagedProgram> buildStages(mlir::ModuleOp module, const OpGraph &graph, const StageSplit &split,
                                          llvm::ArrayRef<StagePlan> plans, const ActionLists &lists,
                                          bool splitsBackward) {
  if (plans.size() != split.numStages || lists.shape.numStages() != split.numStages)
    return inputError("the step is cut into {0} stages, the plan has {1} and its schedule {2}", split.numStages,
                      plans.size(), lists.shape.numStages());
  StagedProgram staged;
  auto workers = programActions(lists);
  if (!workers)
    return workers.takeError();
  staged.program.workers = std::move(*workers);
  PlanNames names = namePlan(mainOf(module));
  for (mlir::BlockArgument argument : mainOf(module).getArguments())
    staged.program.inputs.push_back(names.values.lookup(argument));
  staged.program.results = names.outputValues;
  for (unsigned stage = 0; stage < split.numStages; ++stage) {
    staged.modules.push_back(stageModule(module, graph, split, stage, splitsBackward));
    auto program = partitionStage(*staged.modules.back(), plans[stage], plans[stage].numRanks());
    if (!program)
      return ofStage(stage, program.takeError());
    staged.program.stages.push_back(std::move(*program));
  }
  return staged;
}

llvm::Expected<StagedProgram> buildStages(mlir::ModuleOp module, const OpGraph &graph, const Plan &plan) {
  const PlanPipeline &pipeline = *plan.pipeline;
  auto chunks = static_cast<uint32_t>(pipeline.chunks);
  llvm::Expected<const PipelineSchedule *> schedule = findPipelineSchedule(pipeline.schedule, chunks);
  if (!schedule)
    return schedule.takeError();
  auto lists = generateActions(
      **schedule, {static_cast<uint32_t>(pipeline.workers), static_cast<uint32_t>(graph.wholeMicroBatches()), chunks});
  if (!lists)
    return lists.takeError();
  llvm::Expected<std::vector<size_t>> cuts = cutsBefore(graph, pipeline.cuts);
  if (!cuts)
    return cuts.takeError();
  llvm::Expected<SplitStep> step = splitStep(graph, *cuts);
  if (!step)
    return step.takeError();
  auto summed = sumByStage(module, graph, step->sums);
  auto staged = buildStages(*summed, step->graph, step->split, plan.stages, *lists, (*schedule)->splitsBackward);
  if (staged)
    staged->step = std::move(summed);
  return staged;
}

} // namespace apc

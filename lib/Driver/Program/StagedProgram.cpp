// Stage by stage.
#include "apc/Driver/StagedProgram.h"

#include "apc/Driver/PipelineActions.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Partition/Partition.h"
#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/StageModule.h"

#include <map>
#include <set>

namespace apc {

/// The error of a stage, with its number in front.
static llvm::Error ofStage(unsigned stage, llvm::Error error) {
  auto [fault, text] = takeMessage(std::move(error));
  return llvm::make_error<PlannerError>(fault, llvm::formatv("stage {0}: {1}", stage, text).str());
}

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
      **schedule, {static_cast<uint32_t>(pipeline.workers), static_cast<uint32_t>(graph.microBatches()), chunks});
  if (!lists)
    return lists.takeError();
  llvm::Expected<std::vector<size_t>> cuts = cutsBefore(graph, pipeline.cuts);
  if (!cuts)
    return cuts.takeError();
  llvm::Expected<StageSplit> split = splitStages(graph, *cuts);
  if (!split)
    return split.takeError();
  return buildStages(module, graph, *split, plan.stages, *lists, (*schedule)->splitsBackward);
}

/// The first rank of the worker whose stages need most memory together.
static int64_t fullestWorker(llvm::ArrayRef<StagePlan> plans) {
  std::map<int64_t, int64_t> bytes; // by first rank
  for (const StagePlan &plan : plans)
    bytes[plan.firstRank] += plan.memory.total();
  auto isLess = [](const auto &a, const auto &b) { return a.second < b.second; };
  return llvm::max_element(bytes, isLess)->first;
}

ProgramProof StagedProof::total(llvm::ArrayRef<StagePlan> plans) const {
  ProgramProof total;
  int64_t fullest = fullestWorker(plans);
  for (auto [stage, plan] : llvm::zip_equal(stages, plans)) {
    total.numOps += stage.numOps;
    total.numCollectives += stage.numCollectives;
    total.numSlices += stage.numSlices;
    total.numMasks += stage.numMasks;
    total.numFunctions += stage.numFunctions;
    total.parameterBytes += plan.firstRank == fullest ? stage.parameterBytes : 0;
  }
  for (int64_t bytes : transfers.peakBytes)
    total.peakBytes = std::max(total.peakBytes, bytes);
  return total;
}

/// The memory of each worker against what the plans of its stages say.
static llvm::Error checkWorkers(const Program &program, llvm::ArrayRef<StagePlan> plans, const TransferProof &proof) {
  for (auto [worker, list] : llvm::enumerate(program.workers)) {
    std::set<unsigned> stages;
    for (const ProgramAction &action : list)
      stages.insert(action.stage);
    int64_t planned = 0;
    for (unsigned stage : stages)
      planned += plans[stage].memory.total();
    if (proof.peakBytes[worker] > planned)
      return noPlanError("worker {0} needs {1} bytes with its micro-batches in flight; the plan says {2}", worker,
                         proof.peakBytes[worker], planned);
  }
  return llvm::Error::success();
}

llvm::Expected<StagedProof> verifyStages(llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> modules,
                                         const Program &program, llvm::ArrayRef<StagePlan> plans) {
  StagedProof proof;
  for (unsigned stage = 0; stage < plans.size(); ++stage) {
    mlir::OwningOpRef<mlir::ModuleOp> const &module = modules[stage];
    auto own = verifyStage(module.get(), program.stages[stage], plans[stage]);
    if (!own)
      return ofStage(stage, own.takeError());
    proof.stages.push_back(*own);
  }
  auto transfers = verifyTransfers(program);
  if (!transfers)
    return transfers.takeError();
  proof.transfers = std::move(*transfers);
  if (llvm::Error error = checkWorkers(program, plans, proof.transfers))
    return error;
  return proof;
}

} // namespace apc

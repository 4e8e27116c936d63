// Stage by stage.
#include "apc/Driver/StagedProgram.h"

#include "apc/Driver/PipelineActions.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Partition/Partition.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/StageModule.h"

namespace apc {

bool splitsBackward(const ActionLists &lists) {
  auto isHalf = [](const Action &action) { return action.kind == ActionKind::WeightGradient; };
  return llvm::any_of(lists.workers, [&](const std::vector<Slot> &slots) {
    return llvm::any_of(slots,
                        [&](const Slot &slot) { return isHalf(slot.action) || (slot.beside && isHalf(*slot.beside)); });
  });
}

/// The error of a stage, with its number in front.
static llvm::Error ofStage(unsigned stage, llvm::Error error) {
  auto [fault, text] = takeMessage(std::move(error));
  return llvm::make_error<PlannerError>(fault, llvm::formatv("stage {0}: {1}", stage, text).str());
}

llvm::Expected<StagedProgram> buildStages(mlir::ModuleOp module, const OpGraph &graph, const StageSplit &split,
                                          llvm::ArrayRef<StagePlan> plans, const ActionLists &lists) {
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
    staged.modules.push_back(stageModule(module, graph, split, stage, splitsBackward(lists)));
    auto program = partitionStage(*staged.modules.back(), plans[stage], plans[stage].numRanks());
    if (!program)
      return ofStage(stage, program.takeError());
    staged.program.stages.push_back(std::move(*program));
  }
  return staged;
}

llvm::Expected<StagedProof> verifyStages(const StagedProgram &staged, llvm::ArrayRef<StagePlan> plans) {
  StagedProof proof;
  for (unsigned stage = 0; stage < plans.size(); ++stage) {
    auto own = verifyStage(*staged.modules[stage], staged.program.stages[stage], plans[stage]);
    if (!own)
      return ofStage(stage, own.takeError());
    proof.stages.push_back(*own);
  }
  auto transfers = verifyTransfers(staged.program);
  if (!transfers)
    return transfers.takeError();
  proof.transfers = std::move(*transfers);
  return proof;
}

} // namespace apc

// From a model that was imported again to the program of its plan, and to the proof of it.
#include "CarryOut.h"

#include "apc/Driver/GraphOfStep.h"
#include "apc/Driver/StagedProgram.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyStageOps.h"

namespace apc {

llvm::Expected<PlannedProgram> withProgram(PlannedProgram planned, const Plan &plan) {
  if (!plan.pipeline) {
    auto program = partition(*planned.original, plan);
    if (!program)
      return program.takeError();
    planned.program = std::move(*program);
    return planned;
  }
  llvm::Expected<OpGraph> graph = graphOfStep(*planned.original, planned.modelPath, plan.request);
  if (!graph)
    return graph.takeError();
  llvm::Expected<StagedProgram> staged = buildStages(*planned.original, *graph, plan);
  if (!staged)
    return staged.takeError();
  planned.summed = std::move(staged->step);
  planned.stages = std::move(staged->modules);
  planned.program = std::move(staged->program);
  return planned;
}

llvm::Error prove(const PlannedProgram &planned, const Plan &plan, VerifiedPlan &verified) {
  if (!plan.pipeline) {
    llvm::Expected<ProgramProof> proof = verifyProgram(*planned.original, planned.program, plan);
    if (!proof)
      return proof.takeError();
    verified.proof = *proof;
    return llvm::Error::success();
  }
  if (llvm::Error error = verifyStageOps(*planned.summed, planned.stages))
    return error;
  llvm::Expected<StagedProof> proof = verifyStages(planned.stages, planned.program, plan.stages);
  if (!proof)
    return proof.takeError();
  verified.proof = proof->total(plan.stages);
  verified.transfers = std::move(proof->transfers);
  return llvm::Error::success();
}

} // namespace apc

// A plan with a pipeline carried out: the modules of its stages, and their program.
#pragma once

#include "apc/Graph/StageSplit.h"
#include "apc/IR/Program/Program.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Partition/VerifyTransfers.h"
#include "apc/Plan/Plan.h"
#include "apc/Schedule/Pipeline/Actions.h"

namespace apc {

struct StagedProgram {
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules; ///< by stage, whole: what the program is held against
  Program program;
};

/// True where lists run gradients of inputs and of weights apart: stages then have a part for each.
bool splitsBackward(const ActionLists &lists);

/// Takes the step `module` apart, as `split` of its graph says, and partitions each stage by its plan. Errors (input):
/// a plan that does not fit its stage; another number of plans, or of stages in the lists, than the split has; lists
/// that no program has (`programActions`).
llvm::Expected<StagedProgram> buildStages(mlir::ModuleOp module, const OpGraph &graph, const StageSplit &split,
                                          llvm::ArrayRef<StagePlan> plans, const ActionLists &lists);

struct StagedProof {
  std::vector<ProgramProof> stages;
  TransferProof transfers;
};

/// Proves each stage and what runs between them. Errors (a failed check) name the stage.
llvm::Expected<StagedProof> verifyStages(const StagedProgram &staged, llvm::ArrayRef<StagePlan> plans);

} // namespace apc

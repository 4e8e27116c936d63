// A plan with a pipeline carried out: the modules of its stages, and their program.
#pragma once

#include "apc/Graph/SharedSums.h"
#include "apc/IR/Program/Program.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Partition/VerifyTransfers.h"
#include "apc/Plan/Plan.h"
#include "apc/Schedule/Pipeline/Actions.h"

namespace apc {

struct StagedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> step = {}; ///< with the parts of shared sums, where a plan was carried out
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules; ///< by stage, whole: what the program is held against
  Program program;
};

/// Takes the step `module` apart, as `split` of its graph says, and partitions each stage by its plan. With
/// `splitsBackward`, gradients of inputs and of weights are parts of their own. Errors (input): a plan that does not
/// fit its stage; another number of plans, or of stages in the lists, than the split has; lists that no program has
/// (`programActions`).
llvm::Expected<StagedProgram> buildStages(mlir::ModuleOp module, const OpGraph &graph, const StageSplit &split,
                                          llvm::ArrayRef<StagePlan> plans, const ActionLists &lists,
                                          bool splitsBackward);

/// The same from the cuts and the schedule of a plan with a pipeline. Errors (input) beside those above: cuts that the
/// model does not have; a schedule that is unknown, or does not take the plan's numbers.
llvm::Expected<StagedProgram> buildStages(mlir::ModuleOp module, const OpGraph &graph, const Plan &plan);

struct StagedProof {
  std::vector<ProgramProof> stages;
  TransferProof transfers;

  /// Ops and collectives of all stages; parameters of the worker that `plans` say is the fullest, all its stages
  /// together, and the most bytes that any worker needs.
  ProgramProof total(llvm::ArrayRef<StagePlan> plans) const;
};

/// Proves each stage, what runs between them, and that each worker needs no more memory with its micro-batches in
/// flight than the plans of its stages say together. Errors (a failed check) name the stage, or the worker.
llvm::Expected<StagedProof> verifyStages(llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> modules,
                                         const Program &program, llvm::ArrayRef<StagePlan> plans);

} // namespace apc

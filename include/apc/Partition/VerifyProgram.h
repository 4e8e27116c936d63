// Proof that a program computes its model, by the algebra alone.
#pragma once

#include "apc/IR/Program/Program.h"
#include "apc/Plan/Plan.h"

namespace apc {

/// Numbers of a program that was proven.
struct ProgramProof {
  unsigned numOps = 0; ///< ops of the program that stand for an op of the model, calls expanded
  unsigned numCollectives = 0;
  unsigned numSlices = 0;     ///< pieces cut out of what a device holds, which send nothing
  unsigned numMasks = 0;      ///< paddings masked, addends kept on one device
  unsigned numFunctions = 0;  ///< besides `main`
  int64_t parameterBytes = 0; ///< of one device
  /// Parameters and the values that live at the fullest op. Views share storage; masks and kept addends take none: they
  /// are applied while their op reads the value.
  int64_t peakBytes = 0;
};

/// Interprets `program` abstractly: the value of `original` that each value is a piece of, and its sharding. The proof
/// knows nothing of how the program was made. Each op must find, by the values it reads, an op of the model that it
/// stands for, under a strategy (`apc.strategy`) that is legal and that the shardings of its operands agree with.
/// Collectives must be possible where they stand, and every member of a group must see the same group. Padding must be
/// masked where a reduction is cut unevenly; addends must be kept on one device of a sum. Results must be those of the
/// model and not partial, parameters and arguments those of the model by name. Memory must be within the plan's table.
///
/// Errors (a failed check, exit code 1) name the op, the value, what was found and what was expected.
llvm::Expected<ProgramProof> verifyProgram(mlir::ModuleOp original, const Program &program, const Plan &plan);

/// The same for one stage of a pipeline; `original` is the stage's module (apc/Transforms/StageModule.h). Values that
/// arrive are taken for granted in the sharding that they are said to have; values that leave must be those of the
/// module, and not partial. Ops stand in the parts in which the module has them. The lists of actions and the other
/// ends of transfers are `verifyTransfers`' business.
llvm::Expected<ProgramProof> verifyStage(mlir::ModuleOp original, const StageProgram &program, const StagePlan &plan);

} // namespace apc

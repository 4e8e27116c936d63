// Proof that a program of one device is its model, by the algebra alone.
#pragma once

#include "apc/Plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"

namespace apc {

/// What was found to hold.
struct ProgramProof {
  unsigned numOps = 0;        ///< ops of the program that stand for an op of the model, calls expanded
  unsigned numSteps = 0;      ///< collective steps
  unsigned numMasks = 0;      ///< paddings masked, addends kept on one device
  unsigned numFunctions = 0;  ///< besides `main`
  int64_t parameterBytes = 0; ///< of one device
  /// Parameters and the values that live at the worst op. Views share storage; masks and kept addends change what their
  /// op reads as it is read.
  int64_t peakBytes = 0;
};

/// Interprets `program` abstractly: for every value, which value of `original` it is a piece of and under which
/// sharding. It knows nothing of how the program was made; each op must find, by the values it reads, an op of the
/// model that it stands for, under a strategy (`apc.strategy`) that is legal, whose operands' shardings are those at
/// hand. Steps must be possible where they stand, and their groups must be the same for all members. Padding must be
/// masked where a reduction is cut unevenly, addends be kept on one device of a sum. Results must be the model's, whole
/// parameters and arguments the model's by name, settled where `apc.sharding` says so. Memory must be within the plan's
/// table.
///
/// Errors (a failed check, exit code 1) name op, value, what is and what should be.
llvm::Expected<ProgramProof> verifyProgram(mlir::ModuleOp original, mlir::ModuleOp program, const Plan &plan);

} // namespace apc

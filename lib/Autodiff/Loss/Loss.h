// The value that is made smaller.
#pragma once

#include "apc/IR/Program/PlanNames.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Does `wanted` make a loss of an output, as "mse:y" does?
bool isLossOfOutput(llvm::StringRef wanted);

/// Of a value whose sizes are known.
int64_t numElements(mlir::Value value);

/// The loss that `wanted` asks for (apc/Autodiff/TrainingStep.h): an output of `main`, or ops on an output that are
/// added before its terminator, with an argument "target" where the loss compares. Errors (input): an output that is
/// not there, or of another form; the message lists the outputs.
llvm::Expected<mlir::Value> findLoss(mlir::func::FuncOp main, llvm::StringRef wanted);

} // namespace apc

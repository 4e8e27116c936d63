// Names that a training step gives, which nothing of its model may have.
#pragma once

#include "Update.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Checks the names of parameters and inputs of `main` against those of states of the optimizer, which checkpoints and
/// plans find them by, and these and the names of nodes and values against the terms of shared gradients. Errors
/// (input): a name that both have, a parameter "w.first" beside a parameter "w" that Adam trains.
llvm::Error checkStepNames(mlir::func::FuncOp main, llvm::ArrayRef<TrainedGradient> gradients,
                           const TrainingOptions &options);

} // namespace apc

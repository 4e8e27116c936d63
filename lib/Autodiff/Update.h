// The end of a training step: from gradients to new parameters.
#pragma once

#include "Loss/MicroBatches.h"
#include "LossScale.h"

#include "apc/Autodiff/TrainingStep.h"
#include "apc/IR/Apc.h"

namespace apc {

/// A trained parameter with the contributions to its gradient.
struct TrainedGradient {
  ParameterOp parameter;
  llvm::SmallVector<mlir::Value, 2> contributions;
};

/// Sums, clips and applies the gradients: for each parameter a step of the optimizer, with its states as parameters
/// that begin at zero. Adds the arguments "step" and "learning_rate" to `main`, and to its results the new parameters
/// and states, and the gradients where `options` asks for them. A step is tied to its states and to their results, the
/// result of a parameter to the parameter: what is read and what takes its place are spread alike. With several
/// micro-batches the loss and the gradients are summed over them, and the steps stand behind their end. With
/// `lossScale`, gradients are those of the scaled loss, and the states of the scale are results, too.
void addUpdates(mlir::func::FuncOp main, llvm::ArrayRef<TrainedGradient> gradients, const WeighedLoss &loss,
                const TrainingOptions &options, LossScale *lossScale);

} // namespace apc

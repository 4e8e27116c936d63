// The training step of a model that holds its backward pass.
#pragma once

#include "apc/Autodiff/TrainingStep.h"

namespace apc {

/// Makes the module of `step`, whose parameters are chosen, the training step by the backward pass that it holds.
/// Errors (input): nothing to train, and options that such a model does not allow.
llvm::Error completeHeldStep(TrainingStep &step, const HeldBackward &held, const TrainingOptions &options);

} // namespace apc

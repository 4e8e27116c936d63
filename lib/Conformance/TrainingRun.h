// Runs of a training step, on one device or on all ranks of a program.
#pragma once

#include "TrainingCase.h"

#include "apc/Interpret/Run.h"

#include <functional>

namespace apc {

/// One run of the step on whole tensors: its arguments, and the parameters and states at this moment.
using StepRunner =
    std::function<llvm::Expected<std::vector<Tensor>>(llvm::ArrayRef<Tensor> arguments, const ParameterSource &source)>;

/// Runs all steps of `own` and compares losses, the first gradients and the last parameters with those expected, to
/// |got - expected| <= max(1e-6, 1e-4 |expected|), in 16 bits to four roundings of the largest number expected, masters
/// in the place of their parameters. `step` is the module on one device, whose results tell what is what;
/// `initial` gives the parameters at the start. The first difference, or nothing; errors are those of `run`.
llvm::Expected<std::optional<std::string>> judgeTraining(mlir::ModuleOp step, const TrainingCase &own,
                                                         const ParameterSource &initial, const StepRunner &run);

} // namespace apc

// The error that outputs of a program may have against the model.
#pragma once

#include "apc/Interpret/Run.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

/// For each result of `main` the relative error that roundings leave: that of the coarsest element type of floats
/// among the values that ops compute on the way to it. A product in f16 that is cast to f32 is as coarse as f16.
/// Integers 0.
std::vector<double> acceptedErrors(mlir::func::FuncOp main);

/// The largest magnitude of the terms that result `index` of `main` is made of: its op evaluated on the magnitudes of
/// its operands, 0.75 for 0.25 - 0.5. `module` runs once more for it, on `inputs`. 0 when it cannot be had.
double termMagnitude(mlir::ModuleOp module, unsigned index, llvm::ArrayRef<Tensor> inputs,
                     const ParameterSource &parameters);

} // namespace apc

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

/// The largest distance of `got` from result `index` of `main` beyond that which an error of the operands of its op
/// explains, where each is as far off as `accepted` of the terms that it is made of. Adam divides a gradient by its own
/// size: one that is zero but for rounding, +-1e-9 of terms of 1, moves its parameter by a whole step up or down.
/// Infinite where it cannot be had.
double unexplainedError(mlir::ModuleOp module, unsigned index, llvm::ArrayRef<Tensor> inputs,
                        const ParameterSource &parameters, const Tensor &got, double accepted);

} // namespace apc

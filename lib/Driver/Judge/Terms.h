// The terms that a value of a run is made of.
#pragma once

#include "OpInRun.h"

namespace apc {

/// The largest magnitude of the terms of the value that `pick` finds: its op evaluated on the magnitudes of its
/// operands, 0.75 for 0.25 - 0.5. A sum over micro-batches has the terms of all of them: each runs by itself, for a run
/// of all keeps the operands of the last one alone. 0 when they cannot be had.
double termsOf(mlir::ModuleOp module, Pick pick, llvm::ArrayRef<Tensor> inputs, const ParameterSource &parameters);

} // namespace apc

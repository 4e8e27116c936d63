// Random tensors for runs of models that have no data.
#pragma once

#include "apc/IR/Kernels/Tensor.h"

#include "mlir/IR/BuiltinTypes.h"

namespace apc {

/// Random numbers that follow from the name of a tensor alone: floats even in (-1, 1) over the square root of the last
/// dim, integers in [0, bound), bools. The same on every machine.
Tensor drawTensor(llvm::StringRef name, mlir::RankedTensorType type, int64_t bound = 2);

} // namespace apc

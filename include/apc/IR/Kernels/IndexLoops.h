// Kernels that walk over the indices of a tensor.
#pragma once

#include "apc/IR/Kernels/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// The type that follows for the first result; null when none follows.
mlir::RankedTensorType evaluatedType(mlir::Operation *op);
/// Calls `visit` with each index below `dims`, row-major.
void forEachIndex(llvm::ArrayRef<int64_t> dims, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);
/// The row-major position of `index` in a tensor of `dims`: [1, 2] in [3, 4] is 6.
int64_t positionOf(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> dims);
/// Element `position` of `from` written at the end of `to`.
void appendElement(Tensor &to, const Tensor &from, int64_t position);
/// The tensor of `type` whose element at an index is the element of `from` at `position(index)`; none when a position
/// is outside `from`.
std::optional<Tensor> pickElements(const Tensor &from, mlir::RankedTensorType type,
                                   llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> position);

} // namespace apc

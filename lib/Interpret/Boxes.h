// Boxes of a whole tensor: the part that each rank holds, and elements copied between pieces.
#pragma once

#include "apc/IR/Kernels/Tensor.h"
#include "apc/Sharding/Sharding.h"

namespace apc {

/// The part of a whole tensor that a rank holds, without padding: by dim the runs of elements, one or, where the dim is
/// cut inside parts, several.
///
///   [10, 4] under [x0, -] on [x0=4], rank 3: {{begin 9, count 1}}, {{begin 0, count 4}} in a piece of [3, 4]
using Box = llvm::SmallVector<llvm::SmallVector<DimRun, 1>, 4>;

Box boxOf(llvm::ArrayRef<int64_t> wholeDims, const Sharding &sharding, const Mesh &mesh, int64_t rank);

/// The padded dims of the piece that every rank holds.
llvm::SmallVector<int64_t, 4> pieceDims(llvm::ArrayRef<int64_t> wholeDims, const Sharding &sharding, const Mesh &mesh);

/// A tensor of these dims with nothing but poison: NaN, or the integer.
Tensor poisoned(llvm::ArrayRef<int64_t> dims, mlir::Type element, int64_t integer);

/// For each element that is in both boxes: `visit(position in the piece of a, position in the piece of b)`. The dims
/// are those of the padded pieces.
void forEachShared(const Box &a, llvm::ArrayRef<int64_t> aDims, const Box &b, llvm::ArrayRef<int64_t> bDims,
                   llvm::function_ref<void(int64_t, int64_t)> visit);

/// Copies one element.
void copyElement(const Tensor &from, int64_t at, Tensor &to, int64_t toAt);
/// True when two elements are the same; NaN is the same as NaN.
bool isSameElement(const Tensor &a, int64_t at, const Tensor &b, int64_t bAt);

} // namespace apc

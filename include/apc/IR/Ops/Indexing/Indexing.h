// The Indexing family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"

namespace apc {

/// Sets `shape` of the gradient on a piece to the dims that the device holds.
void setLocalShape(LocalOp &local);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Indexing/Indexing.h.inc"

namespace apc {

/// The dim of OneHot's result that it adds; errors at the op.
mlir::FailureOr<unsigned> oneHotDim(OneHotOp op);

/// True when indices of dims `indices` name elements along `axis` only: they have as many dims as `data` and lie within
/// it beside the axis. data [4, 5], axis 0: [9, 3] does, [9, 6] does not.
bool liesWithinBeside(unsigned axis, llvm::ArrayRef<int64_t> indices, llvm::ArrayRef<int64_t> data);

/// An index that may count from the end; -1 when it lies outside `size`.
int64_t wrapIndex(int64_t index, int64_t size);

/// `tensor` with `count` slices along `dim`: those behind are cut off, missing ones are zeros.
Tensor withCount(const Tensor &tensor, unsigned dim, int64_t count);

/// The constant whose values decide how many results there are; an error at `op` that names the operand otherwise.
mlir::FailureOr<Tensor> requireSelecting(mlir::Operation *op, unsigned operand);

} // namespace apc

// Random numbers that are the same on any sharding: each is drawn by the place of its element in the whole tensor.
#pragma once

#include "apc/IR/Apc.h"

namespace apc {

class DropoutOp;
/// The seed that a Dropout has, or one for each name.
uint64_t seedOf(DropoutOp op);
/// The same for the operators that make nothing but random numbers. Pieces hold that of the whole.
uint64_t streamOf(mlir::Operation *op);
/// True where the training mode is on or not known.
bool mayDrop(DropoutOp op);

/// One seed for each name of an op.
uint64_t seedOfName(mlir::Operation *op);
/// The seed of a run: another one for each number of a draw, `number`, where the op has the operand `draw`. None where
/// the number is not known.
std::optional<uint64_t> seedOfRun(uint64_t seed, mlir::Value draw, const Tensor *number);
/// A number from [0, 1) for each element of the whole tensor.
double drawAt(uint64_t seed, int64_t position);

/// The place of a piece in the whole tensor: where each of its dims begins, and the dims of the whole.
struct PlaceInWhole {
  llvm::SmallVector<int64_t, 4> begins;
  llvm::SmallVector<int64_t, 4> whole;

  int64_t positionOf(llvm::ArrayRef<int64_t> index) const;
};

/// For a piece of dims `dims` and the values of its offsets; no offsets: it is the whole. None where one is not known.
std::optional<PlaceInWhole> placeInWhole(llvm::ArrayRef<int64_t> dims, Operands offsets,
                                         std::optional<llvm::ArrayRef<int64_t>> whole);

} // namespace apc

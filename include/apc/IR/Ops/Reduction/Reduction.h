// The Reduction family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Localize.h"

#include "llvm/ADT/SmallBitVector.h"

namespace apc {

/// How elements are reduced to one. A NaN among the elements is both their maximum and their minimum.
enum class Reduce : uint8_t { Sum, Mean, Product, Max, Min, L1, SumSquare, L2, LogSum, LogSumExp };

/// `d0 max:d1 -> d0 1`, or `-> d0` without `keepdims`. The axes are those of operand 1, a constant; none or absent
/// means all, or nothing when `noopWithEmptyAxes`.
mlir::FailureOr<std::string> reductionRule(mlir::Operation *op, llvm::StringRef mark, bool keepdims,
                                           bool noopWithEmptyAxes);
/// The dims that a reduction takes away; errors at the op.
mlir::FailureOr<llvm::SmallBitVector> reducedDims(mlir::Operation *op, bool noopWithEmptyAxes);
mlir::FailureOr<std::string> argReductionRule(mlir::Operation *op, int64_t axis, bool keepdims);
/// `d0 !d1, _ -> d0 d1` along a constant axis; all dims are whole along an unknown one.
mlir::FailureOr<std::string> runningRule(mlir::Operation *op);

/// "" for floats, "!" for integers, whose partial means do not sum to the mean.
llvm::StringRef meanMark(mlir::Operation *op);
llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2> linearMean(mlir::Operation *op);
/// "log_sum_exp:" for floats, "!" for integers.
llvm::StringRef logSumExpMark(mlir::Operation *op);
/// Sets `count` to the number of elements of the whole tensor that one mean is over.
void localizeMean(LocalOp &local);

/// Over the axes of operand 1; a mean divides by `count` when that is given.
Evaluated evaluateReduction(mlir::Operation *op, Operands operands, Reduce reduce,
                            std::optional<uint64_t> count = std::nullopt);
Evaluated evaluateArgReduction(mlir::Operation *op, Operands operands, Reduce reduce, int64_t axis, bool last);
Evaluated evaluateRunning(mlir::Operation *op, Operands operands, Reduce reduce, bool exclusive, bool reverse);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Reduction/Reduction.h.inc"

// The Movement family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"

namespace apc {

/// The axes are spelled: a dim of 2 that is cut in two is of size 1, but stays.
void localizeSqueeze(LocalOp &local);
/// The repeats that this device makes.
void localizeTile(LocalOp &local);
/// The sizes of the parts' pieces, where the dim is cut inside them.
void localizeSplit(LocalOp &local);
/// The place of the part in the piece, where the dim is cut inside parts of which the op takes one.
void localizeSlice(LocalOp &local);
/// The pads around it, where the op puts one part in its place.
void localizePad(LocalOp &local);
/// The sizes of the piece.
void localizeCenterCropPad(LocalOp &local);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Movement/Movement.h.inc"

namespace apc {

/// The part of one dim that Slice takes: `count` elements from `start` in steps of `step`.
struct SlicedDim {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};
/// One entry for each dim of the data, [0, size) by 1 for those that no axis names; errors at the op.
mlir::FailureOr<llvm::SmallVector<SlicedDim, 4>> slicedDims(SliceOp op);

/// The elements that Pad adds to one dim at both ends; negative pads crop.
struct PaddedDim {
  int64_t before = 0;
  int64_t after = 0;
};
/// One entry for each dim of the data; errors at the op.
mlir::FailureOr<llvm::SmallVector<PaddedDim, 4>> paddedDims(PadOp op);

/// Where Pad reads the element at `at`, counted from the data's first, so negative before it: -1 for the constant.
/// Reflect of 4 elements reads 2 1 | 0 1 2 3 | 2 1, edge 0 0 | 0 1 2 3 | 3 3, wrap 2 3 | 0 1 2 3 | 0 1.
int64_t paddedSource(int64_t at, int64_t size, llvm::StringRef mode);
/// The pads that CenterCropPad comes to: of an odd difference, the greater half is at the end: [5] from 2 is 0 x x 0 0,
/// [2] from 5 is elements 1 and 2.
llvm::SmallVector<PaddedDim, 4> centeredDims(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

/// In the attribute `apc.parts` of Slice and Reshape: the dim of the data that is cut inside parts, and their sizes. Of
/// Concat, Pad and Reshape: the same of the result.
inline constexpr llvm::StringLiteral partedDataName = "data";
inline constexpr llvm::StringLiteral partedResultName = "result";
/// That dim; none when the attribute names none.
std::optional<PartedDim> partedData(mlir::Operation *op);
std::optional<PartedDim> partedResult(mlir::Operation *op);
/// The attribute of the op that goes the way back: what is the data's here is the result's there. Empty without parts.
llvm::SmallVector<mlir::NamedAttribute, 1> partsOnTheWayBack(mlir::MLIRContext *context,
                                                             const std::optional<PartedDim> &data);
/// The dim that Split takes apart when it may be cut inside the parts: they have a common divisor.
mlir::FailureOr<std::optional<PartedDim>> partedSplit(SplitOp op);
int64_t commonDivisor(llvm::ArrayRef<int64_t> sizes);

/// The dim that an op concatenates or splits; errors at the op.
mlir::FailureOr<unsigned> concatDim(ConcatOp op);
/// The sizes of Split's parts; errors at the op.
mlir::FailureOr<llvm::SmallVector<int64_t, 6>> splitSizes(SplitOp op);
/// Transpose's permutation, reversed dims by default; errors at the op.
mlir::FailureOr<llvm::SmallVector<unsigned, 4>> permutationOf(TransposeOp op);
/// The dims that Squeeze removes; errors at the op.
mlir::FailureOr<llvm::SmallBitVector> squeezedDims(SqueezeOp op);
/// The dims of Unsqueeze's result that it adds; errors at the op.
mlir::FailureOr<llvm::SmallBitVector> unsqueezedDims(UnsqueezeOp op);

} // namespace apc

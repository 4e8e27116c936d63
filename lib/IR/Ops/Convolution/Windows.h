// Sliding windows: their places over one spatial dim, and the factors that the dim gets.
#pragma once

#include "apc/IR/Operator.h"

namespace apc {

/// One spatial dim under a window: 224 with kernel 7, stride 2 and pads 3, 3 gives 112.
struct WindowDim {
  int64_t input = 1, kernel = 1, stride = 1, dilation = 1, padBegin = 0, padEnd = 0;
  int64_t output = 1;

  /// The elements that the window spans, holes included: 5 for kernel 3 with dilation 2.
  int64_t span() const { return (kernel - 1) * dilation + 1; }
  /// True when each window stays inside its own block of `stride` points and the blocks fill the dim: kernel 16 with
  /// stride 16 (patches), kernel 1 with stride 1 or 2. Then blocks can be cut.
  bool isBlocked() const { return !padBegin && !padEnd && span() <= stride && input == output * stride; }
  /// True when the windows are the blocks.
  bool isTiled() const { return isBlocked() && kernel == stride; }
};

/// The windows of `op` (attributes `auto_pad`, `ceil_mode`, `dilations`, `kernel_shape`, `pads`, `strides`) over
/// spatial dims `input`. `kernel` is the kernel as the weights have it; empty: given by `kernel_shape` alone.
mlir::FailureOr<llvm::SmallVector<WindowDim, 3>> readWindows(mlir::Operation *op, llvm::ArrayRef<int64_t> input,
                                                             llvm::ArrayRef<int64_t> kernel);
/// The same without computing outputs and without fitting the windows in, as a transposed convolution needs.
/// Every extent is below 2^31, so that spans and sums of a few products do not overflow.
mlir::FailureOr<llvm::SmallVector<WindowDim, 3>>
readWindowAttributes(mlir::Operation *op, llvm::ArrayRef<int64_t> input, llvm::ArrayRef<int64_t> kernel);

/// The factors of one windowed dim in the operand, in the weights and in the result: `(y r), r, y` when tiled, `(y s),
/// r, y` when blocked, else `!h, !r, !y`.
struct WindowFactors {
  DimFactors input, kernel, output;
};
/// `mayCutWindow`: a window may be cut, its parts combining with `combiner`. A window without weights (a pool) that is
/// not tiled gets no kernel factor.
WindowFactors addWindowFactors(FactorRuleBuilder &builder, const WindowDim &window, size_t index, bool mayCutWindow,
                               Combiner combiner, bool hasWeights);

} // namespace apc

// Resize and Upsample: the change of each dim, for shapes and values.
#pragma once

#include "apc/IR/Apc.h"

namespace apc {

/// The change of one dim: 4 points at scale 0.6 become 2.
struct Resized {
  int64_t size = 1;   ///< of the result
  double scale = 1;   ///< as given, or the quotient of the sizes
  bool moved = false; ///< points of the result are not the points of the operand
};
using ResizedDims = llvm::SmallVector<Resized, 5>;

/// An error at `op` for scales or sizes that give no shape.
mlir::FailureOr<ResizedDims> readResize(mlir::Operation *op);

/// The operands of scales, sizes and region by operator and opset; ~0u for none.
struct ResizeOperands {
  unsigned scales = 2, sizes = 3, region = 1;
};
ResizeOperands resizeOperands(mlir::Operation *op);
/// The dims that scales, sizes and region speak of, in their order.
mlir::FailureOr<llvm::SmallVector<unsigned, 6>> resizedAxes(mlir::Operation *op, size_t numDims);

} // namespace apc

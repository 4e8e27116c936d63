// The parts that normalisations are taken apart into, for the files that do so.
#pragma once

#include "apc/IR/Ops/Normalization/Normalization.h"

namespace apc {

/// A normalisation of the rows of x + skip + bias, from `axis` on. Absent operands are `none`.
struct LayerParts {
  mlir::Value x, scale, shift, skip, bias;
  int64_t axis = -1;
  bool isCentred = true;
  mlir::FloatAttr epsilon = {};
  bool givesSum = false;
};
/// `layer_statistics`, called `name`.statistics, and, in the same pass, `layer_normalize`, which is returned.
mlir::Operation *createLayerParts(mlir::OpBuilder &builder, llvm::StringRef name, const LayerParts &parts);

/// Is the op one of those below?
bool isOtherNormalization(mlir::Operation *op);
/// Replaces the uses of a normalisation of groups, of instances, over any dims, by a norm, or of embeddings; returns
/// the last op.
mlir::Operation *takeOtherApart(mlir::OpBuilder &builder, mlir::Operation *op);

} // namespace apc

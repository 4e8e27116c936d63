// Pieces that gradients of normalisations over channels share. Channels are dim 1: [N, C, D1, D2].
#pragma once

#include "apc/IR/Gradient.h"

namespace apc {

mlir::Value reshaped(GradientBuilder &g, mlir::Value value, llvm::ArrayRef<int64_t> dims);
/// [C] beside a value of so many dims, 4 of them [C, 1, 1].
mlir::Value alongChannels(GradientBuilder &g, mlir::Value parameters, size_t numDims);
/// The sum over all dims but that of the channels, in the element type of `like`.
mlir::Value sumOfChannels(GradientBuilder &g, mlir::Value value, mlir::Value like);
mlir::NamedAttribute epsilonAttribute(GradientBuilder &g, const llvm::APFloat &epsilon);

} // namespace apc

// Pieces that gradients of normalisations share. Channels are dim 1: [N, C, D1, D2].
#pragma once

#include "apc/IR/Gradient.h"

namespace apc {

mlir::Value reshaped(GradientBuilder &g, mlir::Value value, llvm::ArrayRef<int64_t> dims);
/// [C] beside a value of so many dims, 4 of them [C, 1, 1].
mlir::Value alongChannels(GradientBuilder &g, mlir::Value parameters, size_t numDims);
/// The sum over all dims but that of the channels, in the element type of `like`.
mlir::Value sumOfChannels(GradientBuilder &g, mlir::Value value, mlir::Value like);
/// A scale that changes nothing, in the element type of `like`.
mlir::Value oneAs(GradientBuilder &g, mlir::Value like);
/// The rows of `x` less their mean and over their deviation, by `layer_statistics` of it, in the element type of
/// `like`.
mlir::Value normalisedBy(GradientBuilder &g, mlir::Value x, mlir::Value statistics, mlir::Value like,
                         llvm::ArrayRef<mlir::NamedAttribute> attributes);
mlir::NamedAttribute epsilonAttribute(GradientBuilder &g, const llvm::APFloat &epsilon);

} // namespace apc

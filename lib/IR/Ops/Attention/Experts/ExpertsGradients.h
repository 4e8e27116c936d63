// Gradients of mixtures of experts, whatever form their weights are stored in.
#pragma once

#include "Experts.h"
#include "apc/IR/Gradient.h"

namespace apc {

/// The weights of the layers as reals, [experts, outputs, inputs] or with the last two dims exchanged, and the operand
/// that the shares of experts are made of.
struct ExpertWeights {
  mlir::Value first, second, third;
  unsigned routing = 1;
};

/// The gradients of the op that `g` reverses, as far as they are wanted: of input, shares, biases and weights that are
/// operands. False, with the reason, for sparse mixers and activations that are not known.
bool differentiateExperts(GradientBuilder &g, const ExpertSizes &sizes, const ExpertWeights &reals);

} // namespace apc

// Products in 8 bits of a step that is trained in 16.
#pragma once

#include "apc/Graph/OpGraph.h"

namespace apc {

/// Operands of a product that are multiplied; others are added to the result.
inline constexpr size_t numMultiplied = 2;

/// Lets the products of weights run in 8 bits, forwards and backwards, as linear layers do under Transformer Engine's
/// fp8_autocast and torchao's float8 training: products of two tensors of 16 bits of which one is a weight, and the
/// products tied to these, which make gradients. The products that make the logits, and their gradients, stay as they
/// are, and so do attentions, convolutions with a window, recurrent layers, and experts that are one op.
///
/// Each operand is narrowed by the first product that reads it: a weight once in a step, everything else in each run.
/// A kernel of its own reads 16 bits and writes 8 twice, as they are and transposed, for the matrix units take 8 bits
/// in one order alone (NVIDIA cuBLAS, cublasLtMatmul, FP8 kernels: "TN").
///
///   y = x . W   narrows x and W;   dx = dy . W^T   narrows dy;   dW = x^T . dy   narrows nothing
void narrowProducts(OpGraph &graph);

} // namespace apc

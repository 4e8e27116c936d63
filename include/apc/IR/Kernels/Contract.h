// Sums of products straight from factor rules: the kernel of MatMul, Gemm and Einsum.
#pragma once

#include "apc/IR/Kernels/Tensor.h"
#include "apc/Sharding/FactorRule.h"

namespace apc {

/// One operand of a product: its index in the rule, and its elements.
struct Multiplicand {
  unsigned operand;
  const Tensor &tensor;
};

/// For each element of the rule's first result, the sum over all other factors of the product of one element of each
/// operand: `m k, k n -> m n` is a matrix product. Factors of other operands take no part. All elements are floats
/// (summed in double) or all are integers (which wrap around at 64 bits); `element` is the result's type.
///
///   rule m k, k n -> m n, {{0, A [2, 3]}, {1, B [3, 4]}} -> [2, 4]
Tensor contract(const FactorRule &rule, llvm::ArrayRef<Multiplicand> multiplicands, mlir::Type element);

} // namespace apc

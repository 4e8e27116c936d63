// The operands and sizes of mixtures of experts.
#pragma once

#include "apc/IR/Operator.h"

namespace apc {

/// The indices of the weights of the three layers, which differ by operator.
struct ExpertOperands {
  unsigned first = 2, second = 4, third = 6;
  unsigned perLayer = 2; ///< operands of one layer: weights, (scales,) bias
  unsigned bias(unsigned weights) const { return weights + perLayer - 1; }
};
ExpertOperands expertOperands(mlir::Operation *op);

/// The sizes of a mixture of experts.
struct ExpertSizes {
  llvm::SmallVector<int64_t, 2> tokens; ///< [tokens] or [batch, positions]
  int64_t hidden = 1, experts = 1, inner = 1;
  int64_t results = 1; ///< elements of a result: `hidden`, or some of them on a piece
  int64_t fused = 1;   ///< 2 when the first layer gives gate and value at once
  int64_t chosen = 1;  ///< experts that a token visits
  bool third = false;
  bool inputsFirst = false; ///< weights are [experts, inputs, outputs]

  double numTokens() const {
    double count = 1;
    for (int64_t size : tokens)
      count *= double(size);
    return count;
  }
};
/// Reads the sizes off the shapes, which also say the order of the weights' dims; errors are emitted at the op.
mlir::FailureOr<ExpertSizes> readExperts(mlir::Operation *op);

} // namespace apc

// The operands and sizes of mixtures of experts.
#pragma once

#include "apc/IR/Operator.h"

namespace apc {

/// Where the weights of the three layers stand, by operator, and the second layer's bias.
struct ExpertOperands {
  unsigned first = 2, second = 4, third = 6;
  unsigned perLayer = 2; ///< operands of one layer: weights, (scales,) bias
  unsigned bias(unsigned weights) const { return weights + perLayer - 1; }
};
ExpertOperands expertOperands(mlir::Operation *op);

struct ExpertSizes {
  llvm::SmallVector<int64_t, 2> tokens; ///< [tokens] or [batch, positions]
  int64_t hidden = 1, experts = 1, inner = 1;
  int64_t results = 1; ///< elements of a result: `hidden`, or some of them on a piece
  int64_t fused = 1;   ///< 2 when the first layer gives gate and value at once
  int64_t chosen = 1;  ///< experts that a token visits
  bool third = false;

  double numTokens() const {
    double count = 1;
    for (int64_t size : tokens)
      count *= double(size);
    return count;
  }
};
mlir::FailureOr<ExpertSizes> readExperts(mlir::Operation *op);
/// True for an op on a piece: the router has more experts than it.
bool isExpertShard(mlir::Operation *op);

} // namespace apc

// Sizes of the operators that carry a state of fixed size along the positions.
#pragma once

#include "apc/IR/Ops/Attention/Attention.h"

namespace apc {

enum LinearOperand : unsigned { Query, Key, Value, PastState, Decay, Beta };

/// Heads come in `shared` groups: the greater number of heads is a multiple of the smaller.
struct LinearSizes {
  int64_t batch = 1, positions = 1, queryHeads = 1, keyHeads = 1, keySize = 1, valueSize = 1;
  int64_t resultHeads() const { return std::max(queryHeads, keyHeads); }
};
/// Errors are emitted at the op.
mlir::FailureOr<LinearSizes> readLinear(LinearAttentionOp op);
/// The factor of the results: one over the root of the size of keys unless it is given.
double linearScale(mlir::Operation *op, const LinearSizes &sizes);

/// A convolution along positions that looks at `kept` positions of the past.
struct ConvolutionOfState {
  int64_t batch = 1, channels = 1, positions = 1, kernel = 1, kept = 0;
};
/// Errors are emitted at the op.
mlir::FailureOr<ConvolutionOfState> readCausal(CausalConvWithStateOp op);

} // namespace apc

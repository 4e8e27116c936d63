// The table of a label_encoder.
#pragma once

#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Indexing/Indexing.h"

namespace apc {

/// Keys, the values that stand beside them, and the value of all that is no key: keys [3, 5], values [0.5, 1.5],
/// otherwise -1.
struct LabelTable {
  Tensor keys, values;
  Number otherwise;
};

/// An error at the op where its attributes are no table of numbers.
mlir::FailureOr<LabelTable> readLabelTable(LabelEncoderOp op);

} // namespace apc

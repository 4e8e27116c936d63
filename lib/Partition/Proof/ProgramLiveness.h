// The memory of a program of one device, by the liveness of its values.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

/// The bytes of one micro-batch in a part of the work of a stage, beside what lives through the step.
struct PartBytes {
  int64_t peak = 0; ///< at the fullest op
  int64_t held = 0; ///< by values that later parts read, but for those that parameters alone make: all share them
};

struct ProgramBytes {
  int64_t parameters = 0; ///< they live from begin to end
  int64_t states = 0;     ///< of the optimizer: they do, too
  int64_t sums = 0;       ///< over micro-batches: from the start on
  int64_t peak = 0;       ///< parameters, states, sums and the values that live at the fullest op
  /// Of a program with ends of parts; the last is what runs once, and counts the sums that are left.
  std::vector<PartBytes> parts;
};

/// `main` has no calls. A value lives from the op that makes it to its last user; arguments from the start, results to
/// the end; values that other stages send from their arrival, values sent to other stages until then; constants are
/// left out. Copies of a micro-batch have values of their own, but for sums. The result of an op that only looks at its
/// first operand differently (a view), or in another order, shares its storage, and so does a result of `main` with the
/// parameter that it replaces. A causal mask that only attentions read is not held: fused ones know it, and
/// under a runtime that does not fuse them plans count more.
ProgramBytes programBytes(mlir::func::FuncOp main);

} // namespace apc

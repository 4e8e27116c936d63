// The memory of a program of one device, by the liveness of its values.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

struct ProgramBytes {
  int64_t parameters = 0; ///< they live from begin to end
  int64_t states = 0;     ///< of the optimizer: they do, too
  int64_t peak = 0;       ///< parameters, states and the values that live at the fullest op
};

/// `main` has no calls. A value lives from the op that makes it to its last user; arguments from the start, results to
/// the end; values that other stages send from their arrival, values sent to other stages until then; constants are
/// left out. The result of an op that only looks at its first operand differently (a view)
/// shares its storage, and so does a result of `main` with the parameter that it replaces.
ProgramBytes programBytes(mlir::func::FuncOp main);

} // namespace apc

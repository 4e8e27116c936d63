// module -> OpGraph: the planner's view of a module, without MLIR inside.
#pragma once

#include "apc/Graph/OpGraph.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

namespace apc {

/// Reads the function `main` of `module`: its arguments become ops "input", `apc.parameter` ops "parameter", its
/// results "output"; constants and absent operands become operands without a value. Names are made unique (`a`, `a#2`).
/// Errors are emitted at the op at fault.
mlir::FailureOr<OpGraph> buildGraph(mlir::ModuleOp module);

} // namespace apc

// Programs without functions: every call replaced by the body of its function.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace apc {

/// A copy of `program` whose `main` has no calls. Null when a function is missing or calls itself.
mlir::OwningOpRef<mlir::ModuleOp> expandCalls(mlir::ModuleOp program);

} // namespace apc

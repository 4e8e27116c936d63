// The mesh of a program that is written.
#pragma once

#include "apc/Sharding/Mesh.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/Error.h"

namespace apc {

/// The mesh that \p program names. Errors: internal ones, of a program that names none.
llvm::Expected<Mesh> meshOfProgram(mlir::ModuleOp program);

} // namespace apc

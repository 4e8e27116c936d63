// The function of a module that is the model or the program.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace apc {

/// The function `main` of `module`; null when there is none, or when it has no body.
inline mlir::func::FuncOp mainOf(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  return main && !main.isExternal() ? main : mlir::func::FuncOp();
}

} // namespace apc

// The names of a module that are not those of values.
#pragma once

#include "TorchFunctions.h"

#include "mlir/IR/BuiltinOps.h"

namespace apc {

/// The functions of collectives.py that a module imports as far as it calls them: `all_gather`, ...
llvm::ArrayRef<llvm::StringLiteral> collectiveNames();

/// The functions of a module for the parts of `main`, in the order in which they run: forward pass, gradients of
/// inputs, gradients of weights, update.
llvm::ArrayRef<llvm::StringLiteral> partFunctionNames();

/// The function inside of the update that all parameters share.
constexpr llvm::StringLiteral parameterUpdateName = "update_parameter";

/// Names that values of a module may not have: Python's keywords, what the module imports and defines, the names that
/// its statements have for what is no value (`rank`, `weights`), and those that expressions of operators call, as
/// `float`.
std::set<std::string> reservedNames(mlir::ModuleOp program, const TorchFunctions &functions);

} // namespace apc

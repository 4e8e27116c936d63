// A module run on one device: the reference that programs of many ranks are held against.
#pragma once

#include "apc/IR/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// Gives the whole tensor of a parameter by its name, when an op needs it first.
using ParameterSource = llvm::function_ref<llvm::Expected<Tensor>(llvm::StringRef name, mlir::RankedTensorType type)>;

/// Runs `main` of `module`, op by op by `OperatorInterface::evaluate`, every result rounded to its element type. A
/// value is freed after its last use. Returns the results of `main`. Errors name the op: inputs of other shapes or
/// element types than the arguments (input), an op that cannot be evaluated for these values (input), a result that is
/// not of the type that the module says (internal).
llvm::Expected<std::vector<Tensor>> run(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs,
                                        ParameterSource parameters);

} // namespace apc

// The names of the values of a function of the program.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <set>
#include <string>
#include <vector>

namespace apc {

/// Names of all values but those that nobody reads, constants and parameters. They tell layers apart by a number alone,
/// so that what all of them do can be told in a loop: values of ops "/h.0/ln_1/Add" and "/h.1/ln_1/Add" are both
/// `h_ln_1_add` where the first is not read once the second is there, and `kept.h_ln_1_add[0]` and
/// `kept.h_ln_1_add[1]` otherwise.///
/// \p scope: what the names of all ops of the function begin with, which is left out: "/h.0/".
/// \p argumentNames: those of the function's arguments, which are told apart where they are equal.
/// \p resultNames: the names inside of functions that this one calls, of what they return.
llvm::DenseMap<mlir::Value, std::string> nameValues(mlir::func::FuncOp function, llvm::StringRef scope,
                                                    llvm::ArrayRef<std::string> argumentNames,
                                                    const llvm::StringMap<std::vector<std::string>> &resultNames,
                                                    const std::set<std::string> &reserved);

/// The name of an op in the plan, or in the model where there is none; "" where it has neither.
std::string opName(mlir::Operation *op);

/// `kept.h_ln_1_add[0]` -> `h_ln_1_add`.
std::string baseOf(llvm::StringRef name);

/// A name without a scope and without its first part that is a number: "/h.0/c_fc/Gemm" in "/h.0/" -> "c_fc_gemm", the
/// parameter "h.0.c_fc.weight" there -> "c_fc_weight".
std::string nameInScope(llvm::StringRef name, llvm::StringRef scope);

} // namespace apc

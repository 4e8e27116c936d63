// The Loss family of operators, for the files that say in C++ what its definitions do not.
#pragma once

#include "apc/IR/Apc.h"

namespace apc {

/// `d0 !d1 d2, d0 d2, d1 -> , d0 d1 d2` for scores [N, C, D] and labels [N, D]; `-> d0 d2` when `reduction` is "none".
/// `mark` stands before the class factor d1.
mlir::FailureOr<std::string> lossRule(mlir::Operation *op, llvm::StringRef reduction, llvm::StringRef mark,
                                      bool givesLogProb);
/// `_, d0 !d1, d0, d1, _ -> d0 d1`.
mlir::FailureOr<std::string> lossGradientRule(mlir::Operation *op);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Loss.h.inc"

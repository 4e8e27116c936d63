// The Elementwise family of operators, for the files that say in C++ what its definitions do not.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Evaluate.h"

#include <algorithm>
#include <cmath>

namespace apc {

using LinearGroups = llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2>;

/// `..., ... -> ...`; with `axis` (opsets before 7) B's dims stand at A's from that axis on: A [2,3,4,5], B [3,4], axis
/// 1 gives `a0 a1 a2 a3, a1 a2 -> a0 a1 a2 a3`.
std::string binaryRule(mlir::Operation *op);
/// `..., ... -> ...`; before opset 7 a slope [C] stands at dim 1.
std::string preluRule(mlir::Operation *op, int64_t opset);
/// All operands in one group.
LinearGroups allOperands(mlir::Operation *op);
/// {{0}} where operand 0 and result 0 are floats of 16 bits or more: what is integer rounds, which is not linear.
LinearGroups linearOverFloats(mlir::Operation *op);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Elementwise.h.inc"

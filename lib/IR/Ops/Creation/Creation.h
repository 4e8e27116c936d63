// The Creation family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"

#include <array>

namespace apc {

/// The element type that `dtype` names, or that of operand 0; null, with an error at the op, for others than floats
/// where `onlyFloats`.
mlir::Type randomElement(mlir::Operation *op, bool onlyFloats);
/// Every dim of result 0 is parallel: each device makes its own part.
FactorRule sourceRule(mlir::Operation *op);

/// A sum of cosines, one for each element of result 0.
Evaluated evaluateWindow(mlir::Operation *op, std::array<double, 3> coefficients, bool periodic);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Creation/Creation.h.inc"

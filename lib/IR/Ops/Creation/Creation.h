// The Creation family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"

#include <array>

namespace apc {

/// A sum of cosines, one for each element of result 0.
Evaluated evaluateWindow(mlir::Operation *op, std::array<double, 3> coefficients, bool periodic);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Creation/Creation.h.inc"

// Random numbers of a training step.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

/// Gives ops of `main` that draw random numbers a new input "draw", the number of the draw, so that every step and
/// every micro-batch draws others. Without such ops there is no new input.
void addDraws(mlir::func::FuncOp main);

} // namespace apc

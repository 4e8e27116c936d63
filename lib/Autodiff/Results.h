// The results of `main`, and what they keep alive.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

/// The loss, called "loss", becomes the first result of `main`, and `others`, without names, the rest.
void returnLoss(mlir::func::FuncOp main, mlir::Value loss, mlir::ValueRange others = {});

/// Erases ops that nothing reads any more.
void eraseDead(mlir::func::FuncOp main);

} // namespace apc

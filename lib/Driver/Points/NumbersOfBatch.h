// Numbers of a model that follow its batch.
#pragma once

#include "apc/Plan/PlanRequest.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

/// Sets `apc.batch_power` (apc/IR/Program/FindBatch.h) on constants of `main`, the model at \p batch, that scale
/// numbers, where the model has other ones at twice the batch: 1 on the 4 samples of Shape(x)[0], by which a loss
/// divides a sum. Imports the model once more where there are such constants.
void markNumbersOfBatch(mlir::func::FuncOp main, const PlanRequest &request, int64_t batch, mlir::MLIRContext &context);

} // namespace apc

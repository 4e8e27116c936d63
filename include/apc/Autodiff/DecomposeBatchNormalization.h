// Batch normalisation in parts that can be cut along batch and space.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

/// Rewrites every batch normalisation of `main` over data of 2 dims or more to normalise by the statistics of its batch
/// (the variance of the whole population), with `training_mode` or not: exporters leave it out, and training with
/// constant statistics is hardly meant. Means over batch and space are sums that devices add up, so both may be cut:
///
///   y = BatchNormalization(x, scale, b, m, v)
///   ->  mean = reduce_mean(x);  variance = reduce_mean((x - mean)^2);  y = batch_normalize(x, scale, b, mean,
///   variance)
///
/// Statistics of data of fewer than 32 bits are in f32. Running statistics that are read become momentum * old + (1 -
/// momentum) * new. Names: those of the op, and "y.mean", "y.variance" and the like for an op "y".
void decomposeBatchNormalization(mlir::func::FuncOp main);

/// Would any op be rewritten? Then what `main` computes depends on how samples are gathered into batches.
bool takesBatchStatistics(mlir::func::FuncOp main);

} // namespace apc

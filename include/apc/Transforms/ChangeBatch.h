// A model at another batch than it was exported with; dims that carry the batch are found by factors, never by sizes.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Errors (input): dim 0 of the first argument of `main` that has dims is 0, and no sample is there to train with.
llvm::Error checkSamples(mlir::func::FuncOp main);

/// The batch of `main`: dim 0 of its first argument that has dims. Errors (input): there is none.
llvm::Expected<int64_t> batchOf(mlir::func::FuncOp main);

/// Changes the batch of `main` to `batch`. A dim carries the batch when an op's rule gives it the factor that has the
/// batch in a dim that does: forwards and backwards, until nothing is new. Constants that say sizes follow (those of a
/// Reshape), and every op is checked again. Of `ids [4, 2048]` and `labels [4, 2048]`, which meet in a loss over 8192
/// rows, a batch of 2 makes [2, 2048], [2, 2048] and 4096 rows, and leaves a hidden size of 8192 as it is.
///
/// Of a model that was exported for one sample, the batch is the first dim, of 1, of every argument of two dims or
/// more, and goes forwards alone: constants and parameters of one sample serve all. A Reshape hands it on to a dim of 1
/// in the same place, or else to the outer part of the dim there.
///
/// Errors (input) name what does not allow another batch: parameters and tables that hold it, ops whose sizes do not
/// follow. A sum over the batch stays a sum: what it is divided by is not looked for.
///
/// Arguments and results are marked as by `markBatch`, by the batch that they come with.
llvm::Error changeBatch(mlir::func::FuncOp main, int64_t batch);

/// Sets `apc.batch_dim` on every argument and result of `main` that has the batch: the first dim that carries it, found
/// as above. `ids [4, 2048]` and `mask [1, 1, 2048, 2048]` for all samples: 0 on `ids`, nothing on `mask`. A `main`
/// with marks keeps them.
void markBatch(mlir::func::FuncOp main);

} // namespace apc

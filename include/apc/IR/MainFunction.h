// The function of a module that is the model or the program.
#pragma once

#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace apc {

/// The function `main` of `module`; null when there is none, or when it has no body.
inline mlir::func::FuncOp mainOf(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  return main && !main.isExternal() ? main : mlir::func::FuncOp();
}

/// The op that ends the part of `main` that runs once for each micro-batch; null where `main` runs once.
inline MicroBatchEndOp microBatchEndOf(mlir::func::FuncOp main) {
  auto ends = main.getOps<MicroBatchEndOp>();
  return ends.empty() ? MicroBatchEndOp() : *ends.begin();
}

/// The number of micro-batches of a step, each copy of one counting; 1 where `main` runs once.
inline int64_t microBatchesOf(mlir::func::FuncOp main) {
  MicroBatchEndOp end = microBatchEndOf(main);
  return end ? end.getCount() : 1;
}

/// The copies of a micro-batch that run in turn, each on its share of the samples; 1 where micro-batches run whole.
inline int64_t copiesOf(mlir::func::FuncOp main) {
  MicroBatchEndOp end = microBatchEndOf(main);
  return end ? end.getCopies() : 1;
}

} // namespace apc

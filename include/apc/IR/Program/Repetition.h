// Parts of a function that repeat: the layers of a model.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace apc {

/// `count` equal segments of `period` ops each, one after the other. 96 layers of 40 ops: period 40, count 96.
struct RepeatedRun {
  size_t period = 0, count = 0;
  std::vector<mlir::Operation *> ops; ///< period x count, in the order of the function

  mlir::Operation *op(size_t segment, size_t index) const { return ops[segment * period + index]; }
};

/// The runs of equal consecutive segments of `main`, in its order, without constants and parameters, none of them over
/// the end of a part or of a transfer between stages. Segments are equal when their ops have the same attributes (but
/// for names and ties) and types, and the same references to one another; what they read from outside may differ. Where
/// a run could start at several ops, it starts where fewest values cross.
///
/// Ops that no parameter leads to and of which there are fewer than readers are left out: what the first layer makes
/// for all layers, such as rotary tables, is none of its own.
///
/// Greedy: the run in which most ops repeat first, then the ops left on both sides of it; runs in which fewer than 8
/// ops repeat are left out.
std::vector<RepeatedRun> findRepeatedRuns(mlir::func::FuncOp main);

} // namespace apc

// Dims that carry the batch, found by factors and never by sizes.
#pragma once

#include "apc/IR/Operator.h"
#include "apc/Sharding/FactorRule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace apc {

/// On a constant of one number that was made from the batch: how often it has the batch as a factor, an i64. Of a batch
/// of 4, 1 on the 4 that a sum is divided by, -1 on 0.25, and 0 on 2, its root.
inline constexpr llvm::StringLiteral batchPowerAttribute = "apc.batch_power";

/// The dims that carry the batch, and where: a dim of 7 tokens, a batch of 6 and 2 halves has 84 elements, and the
/// batch has 2 elements inside. A dim may carry it several times.
class BatchFinder {
public:
  /// Nothing carries the batch yet.
  BatchFinder(mlir::func::FuncOp main, int64_t batch);

  void mark(mlir::Value value, unsigned dim, int64_t inside);
  /// Marks what factors hand on, forwards and backwards, until nothing is new.
  void spread();

  /// How often the dim carries the batch.
  size_t timesCarried(mlir::Value value, unsigned dim) const;
  bool carriesAny(mlir::Value value) const;
  /// Null for an op without a rule.
  const FactorRule *ruleOf(mlir::Operation *op) const;

private:
  void spreadInOrder(mlir::Operation *op, unsigned dim, int64_t inside);
  void spreadBy(mlir::Operation *op);

  int64_t batch;
  std::vector<mlir::Operation *> order;
  llvm::DenseMap<mlir::Operation *, FactorRule> rules, byRow;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, llvm::SmallVector<int64_t, 1>> carrying;
  size_t numMarks = 0;
};

/// The argument whose dim 0 is the batch: the first that has dims; null where there is none.
mlir::Value batchArgument(mlir::func::FuncOp main);

/// All dims of `main`, whose `batchArgument` has dims, that carry its batch. A batch of 1 goes forwards alone, from the
/// arguments that are marked (`apc.batch_dim`), or from each of two dims or more where none is.
BatchFinder findBatch(mlir::func::FuncOp main, int64_t batch);

/// Is any argument of `main` marked as having the batch (`apc.batch_dim`)?
bool hasBatchMarks(mlir::func::FuncOp main);

} // namespace apc

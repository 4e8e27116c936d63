// Values of the whole batch, as they follow from those of its micro-batches.
#pragma once

#include "apc/IR/Program/FindBatch.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace apc {

/// The value of the whole batch, told from those of m micro-batches. Of y [b, 3] and weights W: y is `Rows`, the sum
/// of its squares `Sum`, their mean `Mean`, the norm of W `Same`, and "sum of squares + norm of W" `Terms`.
enum class BatchShare : uint8_t {
  Same,     ///< each of them: it does not depend on the batch
  Rows,     ///< the rows of each of them: it has a dim that carries the batch
  Sum,      ///< their sum
  Mean,     ///< their mean
  Terms,    ///< a sum of terms, each of which is one of the above on its own
  Quotient, ///< two such values, the one divided by the other; or a mean over labels of which not all count
  Unknown,  ///< it does not follow
};

/// The share of every value of `main`, read off the rules of its ops: a reduction over the batch is a sum, and what
/// may enter an op while still partial leaves it so.
class BatchShares {
public:
  /// `main` is at the batch of one micro-batch.
  explicit BatchShares(mlir::func::FuncOp main);

  BatchShare of(mlir::Value value) const { return shares.lookup(value); }
  /// The operands in which `op` is linear while the others are the same for every micro-batch; empty where none are.
  llvm::ArrayRef<unsigned> termsOf(mlir::Operation *op) const;
  /// The op from which on the value does not follow; null where it does.
  mlir::Operation *unknownSince(mlir::Value value) const { return unknown.lookup(value); }

private:
  BatchShare shareOf(mlir::Operation *op);
  BatchShare reduced(mlir::Operation *op, const FactorRule &rule) const;
  BatchShare joined(mlir::Operation *op, llvm::ArrayRef<unsigned> terms) const;
  std::optional<BatchShare> byNumberOfBatch(mlir::Operation *op) const;
  bool isQuotient(mlir::Operation *op) const;
  bool dependsOnWeights(mlir::Value value) const;

  BatchFinder finder;
  llvm::DenseMap<mlir::Value, BatchShare> shares;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 2>> terms;
  llvm::DenseMap<mlir::Value, mlir::Operation *> unknown;
};

/// Is `op` a mean over labels that may not all count, or that have weights?
bool countsLabels(mlir::Operation *op);
/// The labels of a loss over classes; and the weights of the classes, absent where there are none.
mlir::Value labelsOf(mlir::Operation *op);
mlir::Value classWeightsOf(mlir::Operation *op);

} // namespace apc

// Values of the whole batch, as they follow from those of its micro-batches.
#pragma once

#include "apc/IR/Program/FindBatch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

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
  Quotient, ///< two such values, the one divided by the other; or a mean over labels of which not all count; or a sum
            ///< of those that divide by the same number, and of values that do not depend on the batch
  Mixed,    ///< a sum of quotients that divide by different numbers, and of terms
  Unknown,  ///< it does not follow
};

/// The share of every value of `main`, read off the rules of its ops: a reduction over the batch is a sum, and what
/// may enter an op while still partial leaves it so.
class BatchShares {
public:
  /// `main` is at the batch of one micro-batch; `trained` are names of parameters.
  BatchShares(mlir::func::FuncOp main, const llvm::StringSet<> &trained);

  BatchShare of(mlir::Value value) const { return shares.lookup(value); }
  /// The operands in which `op` is linear while the others are the same for every micro-batch; empty where none are.
  llvm::ArrayRef<unsigned> termsOf(mlir::Operation *op) const;
  /// Of a quotient: the op that divides, the first of them where it is a sum of several.
  mlir::Operation *dividerOf(mlir::Operation *op) const { return dividers.lookup(op); }
  /// The op from which on the value does not follow from those of micro-batches, or is mixed; null where there is none.
  mlir::Operation *unknownSince(mlir::Value value) const { return unknown.lookup(value); }
  /// The first op whose result still has the rows of the batch, each of which may depend on other samples: a softmax
  /// over the batch, or x - mean(x) over it. Null where there is none. Normalisations over the batch by an operator of
  /// their own count as well.
  mlir::Operation *mixer() const { return firstMixer; }

private:
  bool mixesRows(mlir::Operation *op) const;
  bool mixesAlong(const FactorRule &rule, mlir::Value value, const RuleTensor &tensor) const;
  BatchShare shareOf(mlir::Operation *op);
  BatchShare reduced(mlir::Operation *op, const FactorRule &rule) const;
  BatchShare joined(mlir::Operation *op, llvm::ArrayRef<unsigned> terms);
  BatchShare joinedQuotients(mlir::Operation *op, llvm::ArrayRef<unsigned> terms);
  std::optional<BatchShare> byNumberOfBatch(mlir::Operation *op) const;
  bool isQuotient(mlir::Operation *op) const;
  bool dependsOnWeights(mlir::Value value) const;

  const llvm::StringSet<> &trained;
  BatchFinder finder;
  llvm::DenseMap<mlir::Value, BatchShare> shares;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 2>> terms;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> dividers;
  llvm::DenseMap<mlir::Value, mlir::Operation *> unknown;
  mlir::Operation *firstMixer = nullptr;
};

} // namespace apc

// Dims of a module's values that must have one scale.
#pragma once

#include "apc/IR/Operator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/IntEqClasses.h"

#include <map>

namespace apc {

/// Sets of dims and factors that are tied: by a factor that stands alone in a dim, or as the major one of several. A
/// set is named by one of its nodes.
class TiedDims {
public:
  explicit TiedDims(mlir::func::FuncOp main);

  unsigned setOf(mlir::Value value, unsigned dim) const { return sets.findLeader(dims.find(value)->second[dim]); }
  unsigned setOf(mlir::Operation *op, unsigned factor) const {
    return sets.findLeader(factors.find(op)->second[factor]);
  }
  const FactorRule &ruleOf(mlir::Operation *op) const { return rules.find(op)->second; }
  bool hasRule(mlir::Operation *op) const { return rules.contains(op); }

  /// Sets with a dim of a parameter of two or more dims, all of whose sizes are multiples of `divisor`, and none of
  /// whose factors is a minor one of a dim. By set.
  llvm::BitVector scalable(int64_t divisor) const;

private:
  void addValue(mlir::Value value);
  void addOp(mlir::Operation *op);
  void tie(mlir::Operation *op, const FactorRule &rule, mlir::Value value, const RuleTensor &tensor);
  unsigned addNode(int64_t size);

  llvm::IntEqClasses sets;               ///< of nodes
  std::vector<int64_t> sizes;            ///< by node
  std::vector<unsigned> minors, weights; ///< nodes
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 4>> dims;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 6>> factors;
  std::map<mlir::Operation *, FactorRule> rules;
};

} // namespace apc

// Rules written dim by dim in C++, and checks of operands and result types.
#pragma once

#include "apc/IR/Apc.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/Twine.h"

namespace apc {

/// "[2, 3]".
std::string printDims(llvm::ArrayRef<int64_t> dims);
/// The product of `dims`, or none when a dim is negative or the product of those that are not 0 overflows.
std::optional<int64_t> checkedProduct(llvm::ArrayRef<int64_t> dims);
/// The product of `sizes`: -1 when one is negative, the largest int64 when it overflows, so that `addType` rejects it.
int64_t mergedSize(llvm::ArrayRef<int64_t> sizes);
/// Appends a tensor type; an error at `op` that prints the dims when one is negative or the bits overflow int64.
mlir::LogicalResult addType(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, mlir::Type element,
                            llvm::SmallVectorImpl<mlir::Type> &types);

/// The constant that decides a shape, of any element type; an error at `op` that names the operand otherwise.
mlir::FailureOr<Tensor> requireConstant(mlir::Operation *op, unsigned operand);
/// `axes` counted from the front; an error at `op` for one outside the range or given twice.
mlir::FailureOr<llvm::SmallVector<unsigned, 6>> normalizeAxes(mlir::Operation *op, llvm::ArrayRef<int64_t> axes,
                                                              size_t numDims);

/// A rule written tensor by tensor in any order. Operands that are not set are whole on every device (or absent),
/// results that are not set have whole dims of their own (or are absent).
///
///   RuleBuilder rule(op);                                    // Transpose [2,3] -> [3,2]
///   DimFactors i = rule.parallel(2), j = rule.parallel(3);
///   rule.setOperand(0, {i, j}); rule.setResult(0, {j, i}); rule.setLinear({0});
///   return rule.take(Work::Stream);
class RuleBuilder {
public:
  explicit RuleBuilder(mlir::Operation *op);

  /// The one factor of a dim: named `d0`, `d1`, ...; `w0`, `w1`, ... when it must be whole.
  DimFactors parallel(int64_t size) { return {builder.addFactor(("d" + llvm::Twine(numParallel++)).str(), size)}; }
  DimFactors whole(int64_t size) { return {builder.addWhole(("w" + llvm::Twine(numWhole++)).str(), size)}; }
  /// A factor summed over, named by the caller.
  DimFactors sum(llvm::StringRef name, int64_t size) { return {builder.addReduction(name, size, Combiner::Sum)}; }

  void setOperand(unsigned index, llvm::SmallVector<DimFactors, 4> dims) { operands[index] = std::move(dims); }
  void setResult(unsigned index, llvm::SmallVector<DimFactors, 4> dims) { results[index] = std::move(dims); }
  /// Operands that may enter partial together.
  void setLinear(llvm::SmallVector<unsigned, 2> group) { builder.addLinear(std::move(group)); }
  void setSparse(unsigned operand) { sparse.set(operand); }
  FactorRule take(Work work);

private:
  using Dims = std::optional<llvm::SmallVector<DimFactors, 4>>;

  mlir::Operation *op;
  FactorRuleBuilder builder;
  llvm::SmallVector<Dims, 4> operands;
  llvm::SmallVector<Dims, 2> results;
  llvm::SmallBitVector sparse;
  unsigned numParallel = 0;
  unsigned numWhole = 0;
};

/// The rule of an op whose first `numData` operands and all results have the same dims in the same order (Slice, Pad,
/// Concat): dims in `touched` are whole, the others parallel; further operands are whole. Linear in the data together
/// when `linear`.
FactorRule alignedRule(mlir::Operation *op, unsigned numData, const llvm::SmallBitVector &touched, bool linear);

} // namespace apc

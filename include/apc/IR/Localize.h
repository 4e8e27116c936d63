// The copy of an op that one device runs on its pieces.
#pragma once

#include "apc/IR/Operator.h"
#include "apc/Sharding/Strategy.h"

#include "mlir/IR/Builders.h"

namespace apc {

/// A copy of `original` whose operands are the pieces that one device holds and whose result types are those of the
/// pieces that it makes. `OperatorInterface::localize` changes all else that depends on sizes.
///
///   Reshape [8, 6] -> [48] with its first factor cut in 2: operands [4, 6] and the constant [48], which must become
///   [24]: `local.setConstant(1, local.resultDims(0))`.
class LocalOp {
public:
  LocalOp(mlir::OpBuilder &builder, mlir::Operation *original, const FactorRule &rule, const Strategy &strategy,
          const Mesh &mesh);

  mlir::OpBuilder &builder;
  mlir::Operation *original;
  const FactorRule &rule;
  const Strategy &strategy;
  const Mesh &mesh;

  llvm::SmallVector<mlir::Value, 4> operands;
  mlir::NamedAttrList attributes;
  llvm::SmallVector<mlir::Type, 2> resultTypes;

  llvm::ArrayRef<int64_t> resultDims(unsigned index) const;
  llvm::ArrayRef<int64_t> operandDims(unsigned index) const;
  /// True when axes cut this dim of the whole operand.
  bool isOperandCut(unsigned operand, unsigned dim) const;
  /// The axes that cut dim `dim` of operand `operand`, over all its factors, major first.
  AxisList operandAxes(unsigned operand, unsigned dim) const;
  AxisList resultAxes(unsigned result, unsigned dim) const;

  void setInt(llvm::StringRef attribute, int64_t value);
  /// Divides an integer attribute (when it is there) by the ways in which the axes of the factor called `factor` cut
  /// it, rounded up where the last piece is padded: 4 groups of one channel in 3 ways are 2.
  void scaleInt(llvm::StringRef attribute, llvm::StringRef factor);
  /// Replaces an operand by a list of constants of the operand's integer type (a scalar stays one).
  void setConstant(unsigned operand, llvm::ArrayRef<int64_t> values);
  /// i64: the position in the whole dim of the first element that this device holds of an operand's dim, a scalar; or
  /// [2] with the position behind the last, where padding stands between pieces. `HeldSpan` reads both.
  mlir::Value offsetOf(unsigned operand, unsigned dim);
  /// The same for a dim of a result.
  mlir::Value resultOffsetOf(unsigned result, unsigned dim);

  /// Creates the op, with verification left to the caller.
  mlir::Operation *create();

private:
  AxisList axesOf(const DimFactors &factors) const;
  /// The position of the first element held of a dim of `size` that `axes` cut.
  mlir::Value offsetIn(int64_t size, const AxisList &axes);
};

} // namespace apc

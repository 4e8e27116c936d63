// Shared by families that build rules in C++: attributes by name, tensors added to a rule, totals of FLOPs.
#pragma once

#include "apc/IR/Operator.h"

namespace apc {

/// The attribute `name` of an ONNX INT, INTS or STRING; `otherwise` or nothing when the attribute is absent.
inline int64_t intAttribute(mlir::Operation *op, llvm::StringRef name, int64_t otherwise) {
  auto attribute = llvm::dyn_cast_if_present<mlir::IntegerAttr>(op->getAttr(name));
  return attribute ? attribute.getInt() : otherwise;
}
inline llvm::ArrayRef<int64_t> intsAttribute(mlir::Operation *op, llvm::StringRef name) {
  auto attribute = llvm::dyn_cast_if_present<mlir::DenseI64ArrayAttr>(op->getAttr(name));
  return attribute ? attribute.asArrayRef() : llvm::ArrayRef<int64_t>();
}
inline llvm::StringRef stringAttribute(mlir::Operation *op, llvm::StringRef name, llvm::StringRef otherwise) {
  auto attribute = llvm::dyn_cast_if_present<mlir::StringAttr>(op->getAttr(name));
  return attribute ? attribute.getValue() : otherwise;
}

/// True for an op on a piece that reads offsets behind its declared operands.
bool isOnPiece(mlir::Operation *op);

/// `y0`, `y1`, ...: the factors of a tensor's like dims.
inline std::string numbered(llvm::StringRef prefix, size_t index) { return (prefix + llvm::Twine(index)).str(); }

/// Adds a tensor with its factors, dim by dim; an absent value takes no part.
inline void addOperand(FactorRuleBuilder &builder, mlir::Value value, llvm::SmallVector<DimFactors, 4> dims) {
  if (auto shape = shapeOf(value))
    builder.addOperand(std::move(dims), shape->elementBits);
  else
    builder.addAbsentOperand();
}
inline void addResult(FactorRuleBuilder &builder, mlir::Value value, llvm::SmallVector<DimFactors, 4> dims) {
  if (auto shape = shapeOf(value))
    builder.addResult(std::move(dims), shape->elementBits);
  else
    builder.addAbsentResult();
}
/// An operand that every device holds whole, or an absent one.
inline void addReplicated(FactorRuleBuilder &builder, mlir::Value value) {
  if (auto shape = shapeOf(value))
    builder.addReplicatedOperand(*shape);
  else
    builder.addAbsentOperand();
}

/// Spreads the op's floating-point operations over the points of its loop nest, so that `rule.flops()` is `flops`.
inline void setFlops(FactorRule &rule, double flops) {
  double points = rule.numPoints();
  rule.flopsPerPoint = points > 0 ? flops / points : 0;
}

/// An error at `op` unless the operand has shape `dims`, -1 standing for any size; an absent operand passes.
mlir::LogicalResult checkDims(mlir::Operation *op, unsigned operand, llvm::ArrayRef<int64_t> dims);
/// An error at `op` for an operand with a dim beyond 2^30, so that products of two sizes and sums of a few of them stay
/// in 64 bits.
mlir::LogicalResult checkExtents(mlir::Operation *op);
/// An error at `op` when `size` is not a multiple of `parts` or `parts` is outside [1, 2^30]; else the quotient.
mlir::FailureOr<int64_t> divide(mlir::Operation *op, int64_t size, int64_t parts, llvm::StringRef what);

} // namespace apc

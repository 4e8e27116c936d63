// The constants that operands are.
#include "apc/IR/Apc.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

mlir::DenseElementsAttr constantOf(mlir::Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValueAttr()) : mlir::DenseElementsAttr();
}

std::optional<llvm::SmallVector<int64_t, 6>> constantInts(mlir::Value value) {
  mlir::DenseElementsAttr attribute = constantOf(value);
  if (!attribute || !attribute.getElementType().isIntOrIndex())
    return std::nullopt;
  Tensor tensor = Tensor::read(attribute);
  return llvm::SmallVector<int64_t, 6>(tensor.ints.begin(), tensor.ints.end());
}

mlir::FailureOr<llvm::SmallVector<int64_t, 6>> requireInts(mlir::Operation *op, unsigned operand) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(operand));
  if (dims.size() > 1)
    return op->emitOpError() << "operand '" << operandName(op, operand) << "' has shape " << printDims(dims)
                             << "; a list, which has one dim, is needed",
           mlir::failure();
  if (auto ints = constantInts(op->getOperand(operand)))
    return *ints;
  return op->emitOpError() << "operand '" << operandName(op, operand)
                           << "' decides a shape, so it must follow from constants and input shapes",
         mlir::failure();
}

} // namespace apc

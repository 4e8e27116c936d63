// Checks of operands' shapes that several families make.
#include "Attributes.h"

#include "apc/IR/Apc.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Sharding/MaxExtent.h"

namespace apc {

bool isOnPiece(mlir::Operation *op) {
  return op->getNumOperands() > llvm::cast<OperatorInterface>(op).getNumDeclaredOperands();
}

mlir::LogicalResult checkDims(mlir::Operation *op, unsigned operand, llvm::ArrayRef<int64_t> expected) {
  if (operand >= op->getNumOperands() || isAbsent(op->getOperand(operand)))
    return mlir::success();
  llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(operand));
  bool fits = dims.size() == expected.size();
  for (size_t i = 0; fits && i < dims.size(); ++i)
    fits = expected[i] < 0 || dims[i] == expected[i];
  if (fits)
    return mlir::success();
  return op->emitOpError() << "operand '" << operandName(op, operand) << "' has shape " << printDims(dims) << " where "
                           << printDims(expected) << " is needed (-1 is any size)";
}

mlir::LogicalResult checkExtents(mlir::Operation *op) {
  for (auto [index, value] : llvm::enumerate(op->getOperands()))
    if (llvm::any_of(dimsOf(value), [](int64_t dim) { return dim > maxExtent; }))
      return op->emitOpError() << "operand '" << operandName(op, index) << "' has shape " << printDims(dimsOf(value))
                               << "; dims of at most " << maxExtent << " are needed";
  return mlir::success();
}

mlir::FailureOr<int64_t> divide(mlir::Operation *op, int64_t size, int64_t parts, llvm::StringRef what) {
  if (parts < 1 || parts > maxExtent || size % parts != 0)
    return op->emitOpError() << what << " is " << parts << ", which does not divide " << size, mlir::failure();
  return size / parts;
}

} // namespace apc

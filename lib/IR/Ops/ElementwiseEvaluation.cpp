// Elementwise operators on small constants: the arithmetic that exporters do on shapes.
#include "apc/IR/Ops/Elementwise.h"

namespace apc {

std::optional<llvm::SmallVector<mlir::DenseElementsAttr, 1>>
AddOp::evaluate(llvm::ArrayRef<mlir::DenseElementsAttr> operands) {
  return std::nullopt;
}

std::optional<llvm::SmallVector<mlir::DenseElementsAttr, 1>>
LessOp::evaluate(llvm::ArrayRef<mlir::DenseElementsAttr> operands) {
  return std::nullopt;
}

} // namespace apc
